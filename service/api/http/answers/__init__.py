"""What is sent: records, downloads, pictures and reports, some with the checkpoint of the ledger."""
