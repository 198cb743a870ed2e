"""The machine agent: proves what its machine is, keeps its certificate fresh, obeys directives.

Standard library only, so that it runs as one zipapp in an initramfs or a cloud image; keys and
requests come from `openssl`, the TPM from tpm2-tools. Start at `agent`.
"""
