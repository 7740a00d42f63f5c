/** Random runs make keys of every type that nodes do not share, and let the tokens and the vendor of such keys fail. */
import { expect, test } from 'vitest';
import { profiles } from '../../../simulation/search/profiles.ts';
import { randomScenario } from '../../../simulation/search/signing/generate.ts';

// Little goes wrong in malformed runs but single fields of frames.
test.each(profiles.filter((profile) => profile !== 'malformed'))(
  '%s runs draw every keystore type, and failures of the tokens and the vendor that hold one',
  (profile) => {
    const scenarios = Array.from({ length: 200 }, (_, seed) => randomScenario(seed + 1, profile));
    const typesOf = ({ clients }: (typeof scenarios)[number]) =>
      Object.values(clients ?? {})
        .flat()
        .flatMap((step) => ('keystore_type' in step ? (step.keystore_type ?? []) : []));
    expect(new Set(scenarios.flatMap(typesOf))).toEqual(new Set(['MULTISIG_EVM_WALLET', 'HSM_PKCS11', 'MPC_VENDOR']));
    for (const [kind, type] of [
      ['hsm_fails', 'HSM_PKCS11'],
      ['vendor_fails', 'MPC_VENDOR'],
    ] as const) {
      const failing = scenarios.filter(({ faults }) => faults.some(({ fault }) => fault === kind));
      expect(failing.length).toBeGreaterThan(0);
      expect(failing.every((scenario) => typesOf(scenario).includes(type))).toBe(true);
    }
  },
);
