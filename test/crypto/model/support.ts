/** A file of tests that computes with the model from its first line to its last. */
import { afterAll, beforeAll } from 'vitest';
import { useModelCryptography, useRealCryptography } from '../../../crypto/model/switch.ts';

export function withTheModel(): void {
  beforeAll(useModelCryptography);
  afterAll(useRealCryptography);
}
