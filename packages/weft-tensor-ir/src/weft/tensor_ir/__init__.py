"""The tensor compiler of weft: tensor expressions, schedules, loop IR, code generators."""
