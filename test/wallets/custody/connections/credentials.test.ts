/** Credentials against what a provider takes: every fault is named, no value ever is. */
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { expect, it } from 'vitest';
import { ServiceError } from '../../../../gateway/api/errors/service-error.ts';
import {
  checkCredentials,
  credentialSchema,
  fingerprintOf,
} from '../../../../wallets/custody/connections/credentials.ts';
import type { ProviderInfo } from '../../../../wallets/providers/port/port.ts';

const field = (name: string, required: boolean, aliases: readonly string[] = []) => ({
  ...{ name, required, secret: true, description: `the ${name}` },
  ...(aliases.length > 0 && { aliases }),
});
const info: ProviderInfo = {
  kind: 'copper',
  displayName: 'Copper',
  hosting: 'hosted',
  environments: ['sandbox'],
  capabilities: [],
  credentialFields: [
    field('api_key', true),
    field('api_secret', true, ['secret', 'private_key']),
    field('organization_id', false, ['workspace_id']),
  ],
  networks: [],
};

const secrets = ['api_secret', 'secret', 'private_key'];
const workspaces = ['organization_id', 'workspace_id'];
const known = ['api_key', ...secrets, ...workspaces];
const names = fc.constantFrom(...known, 'constructor', 'toString', '__proto__', 'password', 'x');
const values = fc.oneof(fc.constantFrom('', ' ', '\t'), fc.stringMatching(/^[0-9A-F]{16,32}$/));
/** As JSON.parse makes it: `__proto__` is a plain property. */
const entries = fc.tuple(names, values);
const right = fc
  .tuple(fc.constantFrom(...secrets), fc.subarray(workspaces, { maxLength: 1 }), fc.array(entries, { maxLength: 1 }))
  .chain(([secret, workspace, more]) =>
    fc
      .tuple(...['api_key', secret, ...workspace].map((name) => fc.tuple(fc.constant(name), values)))
      .map((good) => [...good, ...more]),
  );
const bodies = fc.oneof(right, fc.array(entries, { maxLength: 6 })).map((all) => Object.fromEntries(all));

it('takes exactly what has every required field under one of its names, none unknown and none empty', () => {
  const schema = Compile(credentialSchema(info) as TSchema);
  let taken = 0;
  fc.assert(
    fc.property(bodies, (given) => {
      const has = (name: string) => Object.hasOwn(given, name);
      const wrong = new Set([
        ...Object.keys(given).filter((name) => !known.includes(name)),
        ...(has('api_key') ? [] : ['api_key']),
        ...(secrets.some(has) ? [] : ['api_secret']),
        ...[['api_key'], secrets, workspaces].flatMap((group) => {
          const [said, ...more] = group.filter(has);
          return [...more, ...(said !== undefined && given[said]!.trim() === '' ? [said] : [])];
        }),
      ]);
      expect(schema.Check(given)).toBe(wrong.size === 0);
      try {
        const checked = checkCredentials(info, given);
        expect(wrong.size).toBe(0);
        expect(Object.values(checked).sort()).toEqual(Object.values(given).sort());
        expect(Object.keys(checked)).toEqual([
          'api_key',
          'api_secret',
          ...(workspaces.some(has) ? ['organization_id'] : []),
        ]);
        taken += 1;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        expect(error.kind).toBe('invalidRequest');
        expect(new Set(error.details?.map((detail) => detail.field))).toEqual(
          new Set([...wrong].map((name) => `credentials.${name}`)),
        );
        expect(error.message).toContain(
          'takes api_key, api_secret (or secret, private_key), organization_id (or workspace_id; optional)',
        );
        const said = JSON.stringify([error.message, error.details, error.stack]);
        for (const value of Object.values(given)) if (value.trim() !== '') expect(said).not.toContain(value);
      }
    }),
    { numRuns: 500 },
  );
  expect(taken).toBeGreaterThan(20);
});

it('takes anything where any credentials are taken', () => {
  const any: ProviderInfo = {
    ...info,
    kind: 'sandbox',
    credentialFields: [field('api_key', false)],
    takesAnyCredentials: true,
  };
  const schema = Compile(credentialSchema(any) as TSchema);
  fc.assert(
    fc.property(bodies, (given) => {
      expect(checkCredentials(any, given)).toEqual(given);
      expect(schema.Check(given)).toBe(true);
    }),
  );
});

it('has a schema without an empty list of conditions', () => {
  const without: ProviderInfo = { ...info, credentialFields: [field('api_key', true)] };
  expect(credentialSchema(info)).toMatchObject({ allOf: [{ oneOf: expect.any(Array) }, { oneOf: expect.any(Array) }] });
  expect(credentialSchema(without)).not.toHaveProperty('allOf');
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
