/**
 * The signing API in the OpenAPI document: the five calls, with schemas made from the protobuf descriptors in ProtoJSON form.
 * Requests accept any field, and the transport requires none: the receipt reports missing fields.
 */

import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { exampleIds } from '../api/examples.ts';
import { secret } from '../api/schema-kit.ts';
import { signingMethods } from '../api/signing-methods.ts';
import { maturityOf } from './modules.ts';
import { answerHeaders, errorResponses, type Json, type JsonObject, type NamedSchemas, ref } from './parts.ts';

/** Paths and their operations. Schemas are added to `schemas`. */
export function signingPaths(schemas: NamedSchemas): JsonObject {
  return Object.fromEntries(
    signingMethods.map(({ name, httpPath, requirement, request, response }): [string, Json] => {
      const operationId = name.charAt(0).toLowerCase() + name.slice(1);
      addMessage(schemas, request, 'request');
      addMessage(schemas, response, 'response');
      return [
        httpPath,
        {
          post: {
            operationId,
            tags: ['Signing'],
            'x-maturity': maturityOf('Signing'),
            summary: summaries[name] ?? name,
            description:
              'Whatever decodes and is authenticated answers 200; the outcome is in `receipt` (this call) and ' +
              `\`checkpoint\` (the session). Scope: \`${requirement.scope}\`.`,
            'x-required-scope': requirement.scope,
            'x-limit-class': requirement.limitClass,
            security: [{ bearer: [requirement.scope] }],
            parameters: [ref('parameters', 'IdempotencyKey')],
            requestBody: {
              required: true,
              content: {
                'application/json': { schema: ref('schemas', request.name), example: signingExamples[operationId]! },
              },
            },
            responses: {
              '200': {
                description: 'The outcome of the call',
                headers: answerHeaders({ guarded: true, idempotent: true }),
                content: { 'application/json': { schema: ref('schemas', response.name) } },
              },
              ...errorResponses([400, 401, 403, 409, 413, 415, 429, 500, 503, 504]),
            },
          },
        },
      ];
    }),
  );
}

/** Bodies by operation, as `example` of a route. */
export const signingExamples: Readonly<Record<string, JsonObject>> = {
  initiateDkg: { session_id: 'my-key', threshold: 3, total_nodes: 5, derivation: { curve: 'secp256k1' } },
  exchangeDkgShares: { session_id: 'my-key' },
  initiateSigning: {
    transaction_intent_id: 'invoice-0117',
    wallet_id: 'sandbox-secp256k1',
    message_hash: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=',
  },
  submitSignatureShare: { signing_session_id: exampleIds.signingSession },
  resumeSession: {
    session_id: exampleIds.signingSession,
    resume_token: exampleIds.resumeToken,
    human_approval_witness: 'YXBwcm92ZWQgYnkgYWxpY2U=',
  },
};

const summaries: Readonly<Record<string, string>> = {
  InitiateDkg: 'Start a distributed key generation',
  ExchangeDkgShares: 'Run a round, or one pair, of the share exchange',
  InitiateSigning: 'Start a threshold signature ceremony',
  SubmitSignatureShare: 'Submit partial signatures',
  ResumeSession: 'Resume a paused or escalated session',
};

type Side = 'request' | 'response';

function addMessage(schemas: NamedSchemas, message: DescMessage, side: Side): void {
  const properties = Object.fromEntries(message.fields.map((field) => [field.name, fieldSchema(schemas, field, side)]));
  schemas.add(message.name, {
    type: 'object',
    properties,
    // Answers have every field; the API ignores unknown fields of requests.
    ...(side === 'response' ? { required: message.fields.map(({ name }) => name), additionalProperties: false } : {}),
  });
}

function fieldSchema(schemas: NamedSchemas, field: DescField, side: Side): Json {
  if (field.fieldKind === 'message') {
    addMessage(schemas, field.message, side);
    return { anyOf: [ref('schemas', field.message.name), { type: 'null' }] };
  }
  if (field.fieldKind === 'enum') return enumSchema(field.enum);
  if (field.fieldKind === 'list' && field.listKind === 'scalar') {
    return { type: 'array', items: scalarSchema(field.scalar) };
  }
  if (field.fieldKind === 'scalar') {
    return { ...scalarSchema(field.scalar), ...(secretFields.has(field.name) && secret) };
  }
  throw new Error(`${field.name}: no schema for such a field`);
}

/** Fields of messages whose values are secret: a partial signature is, because mock ECDSA discloses its nonce. */
const secretFields: ReadonlySet<string> = new Set([
  'encrypted_share',
  'human_approval_witness',
  'partial_signature',
  'policy_approval_token',
  'resume_token',
]);

function enumSchema({ values }: DescEnum): JsonObject {
  return { type: 'string', enum: values.map(({ name }) => name) };
}

function scalarSchema(scalar: ScalarType): JsonObject {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: 'string' };
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' };
    case ScalarType.BOOL:
      return { type: 'boolean' };
    case ScalarType.INT32:
      return { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
    case ScalarType.INT64:
      return { type: 'string', pattern: '^-?[0-9]{1,19}$', description: '64-bit integer as a string' };
    default:
      throw new Error(`no schema for scalar type ${scalar}`);
  }
}
