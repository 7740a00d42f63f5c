/** Set-up of test files that share their modules: a file that chooses the model of cryptography puts the real one back. */
import { afterAll, beforeAll, expect } from 'vitest';
import { cryptography } from '../../core/crypto/backend.ts';

const check = () => expect(cryptography(), 'the cryptography that one test file leaves to the next').toBe('real');

beforeAll(check);
// Runs after the hooks of the file itself.
afterAll(check);
