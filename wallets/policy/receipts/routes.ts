/** The public keys of policy receipts, without a token. */
import Type from 'typebox';
import { type Route, route } from '../../../gateway/api/route.ts';
import { Closed } from '../../../gateway/api/schema-kit.ts';
import type { ReceiptSigner } from './signer.ts';

const KeySet = Closed(
  {
    keys: Type.Array(
      Closed({
        kty: Type.Literal('OKP'),
        crv: Type.Literal('Ed25519'),
        x: Type.String({ description: 'the public key, 32 bytes, base64url' }),
        kid: Type.String({ description: 'RFC 7638 thumbprint' }),
        alg: Type.Literal('EdDSA'),
        use: Type.Literal('sig'),
      }),
    ),
  },
  { title: 'KeySet' },
);

/** A verifier may keep the key set for this long. */
const maxAgeS = 300;

export function receiptRoutes(signer: ReceiptSigner): readonly Route[] {
  return [
    {
      ...keySetRoute('/v1/.well-known/jwks.json', 'getPolicyReceiptKeys', signer),
      clientName: 'policies.receiptKeys',
    },
    keySetRoute('/.well-known/jwks.json', 'getWellKnownKeys', signer),
  ];
}

function keySetRoute(path: string, operationId: string, signer: ReceiptSigner): Route {
  return route({
    method: 'GET',
    path,
    operationId,
    tag: 'Policy',
    summary: 'Read the keys that verify policy receipts',
    description: 'A JSON Web Key Set (RFC 7517). Receipts are compact JWS with `alg` EdDSA; `kid` names the key.',
    scope: undefined,
    responses: { 200: { schema: KeySet, description: 'the key set' } },
    handle: async () => ({
      status: 200,
      body: signer.jwks(),
      headers: { 'cache-control': `public, max-age=${maxAgeS}` },
    }),
  });
}
