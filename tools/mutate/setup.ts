/** Set-up of every test file in a run with mutants. */
import fc from 'fast-check';

// Whether a mutant is found is all that counts, not by how small an example.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });
