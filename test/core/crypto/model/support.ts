/** A file of tests that computes with the model from its first line to its last. */
import { afterAll, beforeAll } from 'vitest';
import { chooseCryptography } from '../../../../core/crypto/backend.ts';
// Names the model's stand-ins.
import '../../../../core/crypto/model/switch.ts';

export const useModelCryptography = (): void => chooseCryptography('model');
export const useRealCryptography = (): void => chooseCryptography('real');

export function withTheModel(): void {
  beforeAll(useModelCryptography);
  afterAll(useRealCryptography);
}
