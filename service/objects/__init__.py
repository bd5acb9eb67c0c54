"""Where sealed files lie: a directory, or a bucket by the S3 API."""
