"""Branch coverage of the sources, cheap enough for every run of CI on Python 3.11.

A tracer is called for every line, again and again, which doubles the time of the tests. Here every
statement of a module is compiled with a probe in front of it: one store into a list. Python 3.12
has `sys.monitoring` for this, with branches from 3.14 on; when 3.14 is the oldest Python that we
support, coverage.py replaces this package.

Start reading at `probes`. `plugin` is the pytest plugin: `pytest -p branch_coverage.plugin`.
"""
