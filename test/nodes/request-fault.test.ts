/** What is wrong with a request for a partial signature, whatever its key: each fault by its own words, and the last values without one. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { requestFault } from '../../nodes/signer/partials.ts';
import { PartialRequestSchema, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { derivationPathCharsMax, nodesMax } from '../../proto/limits.ts';

type Request = MessageInitShape<typeof PartialRequestSchema>;

/** Of a request to node 2 for a signature of nodes 2 and 5. */
function faultOf(over: Request, tenant = 'acme'): string | undefined {
  const signers = [2, 5].map((nodeId) => ({ nodeId }));
  const sound = { keySession: 'key-1', scheme: Scheme.FROST_ED25519, message: new Uint8Array(32), nonceNumber: 1n };
  return requestFault(create(PartialRequestSchema, { ...sound, signers, ...over }), tenant, 2);
}

const signersOf = (...ids: number[]) => faultOf({ signers: ids.map((nodeId) => ({ nodeId })) });

it('names the scheme, the key and the path', () => {
  expect(faultOf({})).toBeUndefined();
  expect(faultOf({ scheme: Scheme.UNSPECIFIED })).toBe('the scheme is unknown');
  expect(faultOf({ keySession: 'a/b' })).toBe('tenant and key session name no key');
  expect(faultOf({}, '')).toBe('tenant and key session name no key');
  expect(faultOf({ derivationPath: '/'.repeat(derivationPathCharsMax) })).toBeUndefined();
  expect(faultOf({ derivationPath: '/'.repeat(derivationPathCharsMax + 1) })).toContain('the path is longer than');
});

it('knows how long a message of each scheme is', () => {
  const messageOf = (scheme: Scheme, bytes: number) => faultOf({ scheme, message: new Uint8Array(bytes) });
  for (const bytes of [1, 65_536]) expect(messageOf(Scheme.FROST_ED25519, bytes)).toBeUndefined();
  for (const bytes of [0, 65_537]) {
    expect(messageOf(Scheme.FROST_ED25519, bytes)).toBe('the message is not 1 to 65536 bytes');
  }
  expect(messageOf(Scheme.MOCK_ECDSA, 32)).toBeUndefined();
  for (const bytes of [31, 33]) expect(messageOf(Scheme.MOCK_ECDSA, bytes)).toBe('the message is not 32 to 32 bytes');
});

it('wants a nonce where the scheme takes one', () => {
  expect(faultOf({ nonceNumber: 0n })).toBe('a FROST partial needs a nonce');
  expect(faultOf({ scheme: Scheme.MOCK_ECDSA, nonceNumber: 0n, signers: [] })).toBeUndefined();
});

it('wants signers in ascending order, each once, in range, and its own node among them', () => {
  expect(signersOf(1, 2, nodesMax)).toBeUndefined();
  expect(signersOf(0, 2)).toBe(`signer 0 is not from 1 to ${nodesMax}`);
  expect(signersOf(2, nodesMax + 1)).toBe(`signer ${nodesMax + 1} is not from 1 to ${nodesMax}`);
  expect(signersOf(5, 2)).toBe('the signers are not ascending and distinct');
  expect(signersOf(2, 2)).toBe('the signers are not ascending and distinct');
  expect(signersOf(1, 3)).toBe('this node is not among the signers');
  expect(signersOf()).toBe('this node is not among the signers');
});
