"""The machine agent: attests its machine, renews the certificate, and follows directives.

Standard library only, so that it runs as one zipapp in an initramfs or a cloud image; keys and
requests come from `openssl`, the TPM from tpm2-tools. Start at `agent`.
"""
