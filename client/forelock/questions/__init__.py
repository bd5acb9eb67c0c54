"""Questions to result files: one reading of them, one set of options, one form of answers.

`asked` is what the command line says of the files, `reading` makes them one table, `options` are the options, `form` is
how an answer is printed, drawn and written. Every question picks its systems (`systems`) and words its answer.
"""
