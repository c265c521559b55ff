"""What operators compute: a module or a room for each family, with schedules beside."""
