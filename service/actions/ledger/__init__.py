"""The log: signing, proofs, handing over to another signer, exports."""
