"""The URL database, ranks and report of many machines, through Spark; needs `[spark]`.

Spark groups, sorts, joins and iterates; the computations are functions of `urldb`,
`ranking`, `measures` and `report`, so the results equal those of one machine with all
logs. `machine_file` exports the logs of one machine, `job` has the steps.
"""
