/** Credentials against what a provider takes: every fault is named, no value ever is. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkCredentials, fingerprintOf } from '../../../gateway/connections/credentials.ts';
import { ServiceError } from '../../../gateway/errors/service-error.ts';
import type { ProviderInfo } from '../../../gateway/providers/port.ts';

const field = (name: string, required: boolean) => ({ name, required, secret: true, description: `the ${name}` });
const info: ProviderInfo = {
  kind: 'copper',
  displayName: 'Copper',
  hosting: 'hosted',
  environments: ['sandbox'],
  capabilities: [],
  credentialFields: [field('api_key', true), field('api_secret', true), field('organization_id', false)],
  networks: [],
};

const names = fc.constantFrom('api_key', 'api_secret', 'organization_id', 'constructor', 'toString', 'password', 'x');
const values = fc.oneof(fc.constantFrom('', ' ', '\t'), fc.stringMatching(/^[0-9A-F]{16,32}$/));

it('takes exactly what has every required field, none unknown and none empty', () => {
  fc.assert(
    fc.property(fc.dictionary(names, values), (given) => {
      const known = info.credentialFields.map(({ name }) => name);
      const wrong = new Set([
        ...Object.keys(given).filter((name) => !known.includes(name) || given[name]!.trim() === ''),
        ...['api_key', 'api_secret'].filter((name) => !Object.hasOwn(given, name)),
      ]);
      try {
        expect(checkCredentials(info, given)).toEqual(given);
        expect(wrong.size).toBe(0);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        expect(error.kind).toBe('invalidRequest');
        expect(new Set(error.details?.map((detail) => detail.field))).toEqual(
          new Set([...wrong].map((name) => `credentials.${name}`)),
        );
        const said = JSON.stringify([error.message, error.details, error.stack]);
        for (const value of Object.values(given)) if (value.trim() !== '') expect(said).not.toContain(value);
      }
    }),
  );
});

it('gives a fingerprint that depends on every word and on the key, and on no order', () => {
  const key = new Uint8Array(32).fill(1);
  const credentials = { api_key: 'ab', api_secret: 'c' };
  const print = fingerprintOf(key, 'acme', 'copper', credentials);
  expect(print).toMatch(/^[0-9a-f]{16}$/);
  expect(fingerprintOf(key, 'acme', 'copper', { api_secret: 'c', api_key: 'ab' })).toBe(print);
  const others = [
    fingerprintOf(new Uint8Array(32).fill(2), 'acme', 'copper', credentials),
    fingerprintOf(key, 'acm', 'copper', credentials),
    fingerprintOf(key, 'acme', 'bitgo', credentials),
    fingerprintOf(key, 'acme', 'copper', { api_key: 'a', api_secret: 'bc' }),
    fingerprintOf(key, 'acme', 'copper', { api_key: 'ab' }),
  ];
  expect(new Set([print, ...others]).size).toBe(others.length + 1);
});
