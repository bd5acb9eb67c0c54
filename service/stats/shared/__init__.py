"""What families of statistical tests share: the register, request fields, samples, resampling, warnings."""
