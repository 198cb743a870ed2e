"""Attestation, pure: join tokens, TPM 2.0 structures, credentials, quotes, EK certificates.

Nothing here talks to a TPM or to a network. Start at `join_token` for machines that prove
themselves by a secret, and at `public_area`, `credential`, `quote` for those that do by a TPM;
`endorsement` decides which TPMs are trusted, `pcr_policy` which boots.
"""
