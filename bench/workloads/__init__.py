"""What operators are put through, one module for each workload.

Each has `cases(scale, operators)`. A workload opens a `stage.Stage`, puts an operator on it, and
notes figures; `series` turns them into cases. Start reading at `convergence`.
"""
