"""The URL database, ranks and report of many machines, through Spark; needs `[spark]`.

Spark groups, sorts, joins and iterates; what is computed are the functions of `urldb`,
`ranking`, `measures` and `report`, so that the figures are those of one machine that
has all logs. `machine_file` writes what the logs of one machine say, `job` has the
steps.
"""
