/** Set-up of every test file in a run with mutants. */
import fc from 'fast-check';

// Only the detection of a mutant counts, not the size of the example.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });
