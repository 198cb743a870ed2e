"""The kinds of the group `experiments.illm.io`: Experiment and Component."""
