"""`hypervisor.hyperfleet.io`: fleets of virtual machines on hypervisors."""
