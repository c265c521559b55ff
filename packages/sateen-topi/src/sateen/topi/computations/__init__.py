"""The computations of operators: a module or a room for each family, with its schedules."""
