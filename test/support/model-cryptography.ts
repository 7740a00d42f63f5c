/**
 * For test files whose subject is not cryptography: in `npm test` they run over its model, in a thorough run over the curves. What
 * a file makes while it loads is real, so such a file makes no keys there.
 */
import { afterAll, beforeAll } from 'vitest';
import { chooseCryptography } from '../../core/crypto/backend.ts';
import '../../core/crypto/model/switch.ts';
import { isThorough } from './thorough.ts';

/** For the top level of a test file. Files of a worker run one after the other, so the choice holds for this one alone. */
export function useModelCryptography(): void {
  if (isThorough) return;
  beforeAll(() => chooseCryptography('model'));
  afterAll(() => chooseCryptography('real'));
}
