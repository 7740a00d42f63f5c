import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  ScalarType,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPlanned, writePlanned } from '../../../gateway/api/planned-json.ts';
import { decodeProtoJson, encodeProtoJson } from '../../../gateway/api/proto-json.ts';
import { signingMethods } from '../../../gateway/api/signing-methods.ts';
import {
  ApprovalMode,
  DiagnosticReceiptSchema,
  DkgShareExchangeRequestSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  KeystoreType,
  SignatureShareRequestSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { codePoint } from '../../support/code-point.ts';
import { runs } from '../../support/thorough.ts';

type Json = Parameters<typeof decodeProtoJson>[1];

/** Every field of a message and of its sub-messages, with the path that leads there. */
function everyField(schema: DescMessage, path: readonly DescField[] = []): (readonly DescField[])[] {
  return schema.fields.flatMap((field) => {
    const here = [...path, field];
    return field.fieldKind === 'message' ? [here, ...everyField(field.message, here)] : [here];
  });
}

/** A body that holds `value` at the end of the path. */
function bodyWith(path: readonly DescField[], value: unknown, name: (field: DescField) => string): Json {
  return path.reduceRight<unknown>((inner, field) => ({ [name(field)]: inner }), value) as Json;
}

const snake = (field: DescField) => field.name;
const camel = (field: DescField) => field.jsonName;

const requests = signingMethods.map((method) => method.request);
const allFields = requests.flatMap((schema) =>
  everyField(schema).map((path) => [`${schema.name}.${path.map(snake).join('.')}`, schema, path] as const),
);

/** Per kind of field: what is refused and how the refusal is named. */
const wrongValues: Record<string, readonly (readonly [unknown, string])[]> = {
  string: [
    [7, 'wrong_type'],
    [true, 'wrong_type'],
    [{}, 'wrong_type'],
    [[], 'wrong_type'],
  ],
  bytes: [
    [7, 'wrong_type'],
    [{}, 'wrong_type'],
    ['!!!!', 'invalid_base64'],
    ['a', 'invalid_base64'],
    ['0xdeadbeef!', 'invalid_base64'],
    // What the library reads as some other bytes.
    ['aGVsbG8=\n', 'invalid_base64'],
    ['aGVs\r\nbG8=', 'invalid_base64'],
    [' aGVsbG8=', 'invalid_base64'],
    ['aGVsbG8==', 'invalid_base64'],
    ['YWJj=', 'invalid_base64'],
    ['YWI=YWI=', 'invalid_base64'],
    ['=', 'invalid_base64'],
    ['YWJ=', 'invalid_base64'],
    ['YWJ', 'invalid_base64'],
    ['+_8=', 'invalid_base64'],
  ],
  int32: [
    ['x', 'wrong_type'],
    [{ toString: 0 }, 'wrong_type'],
    ['', 'wrong_type'],
    ['0x10', 'wrong_type'],
    ['+1', 'wrong_type'],
    ['01', 'wrong_type'],
    [' 1', 'wrong_type'],
    ['٣', 'wrong_type'],
    [1.5, 'wrong_type'],
    [true, 'wrong_type'],
    [{}, 'wrong_type'],
    [2_147_483_648, 'out_of_range'],
    [-2_147_483_649, 'out_of_range'],
    ['9007199254740993', 'out_of_range'],
    [1e300, 'out_of_range'],
  ],
  enum: [
    ['NO_SUCH_NAME', 'unknown_enum_value'],
    ['', 'unknown_enum_value'],
    ['1', 'unknown_enum_value'],
    [1.5, 'wrong_type'],
    [true, 'wrong_type'],
    [{}, 'wrong_type'],
    [2_147_483_648, 'out_of_range'],
  ],
  message: [
    ['x', 'wrong_type'],
    [7, 'wrong_type'],
    [[], 'wrong_type'],
    [true, 'wrong_type'],
  ],
  list: [
    ['AQ==', 'wrong_type'],
    [{}, 'wrong_type'],
    [7, 'wrong_type'],
  ],
};

/** Each says what the field takes. */
function fault(field: string, issue: string) {
  return { field, issue, message: expect.stringMatching(/^(takes|has|is given) ./) };
}

function kindOf(field: DescField): string {
  if (field.fieldKind !== 'scalar') return field.fieldKind;
  return { 5: 'int32', 9: 'string', 12: 'bytes' }[field.scalar as number] ?? 'unknown';
}

describe('ProtoJSON in', () => {
  it('knows every kind of field that requests have', () => {
    for (const [, , path] of allFields) expect(Object.keys(wrongValues)).toContain(kindOf(path.at(-1)!));
  });

  it.each(allFields)('names %s when its value is wrong, in either spelling', (_, schema, path) => {
    const field = path.map(snake).join('.');
    for (const [value, issue] of wrongValues[kindOf(path.at(-1)!)]!) {
      for (const name of [snake, camel]) {
        expect(decodeProtoJson(schema, bodyWith(path, value, name)), JSON.stringify(value)).toEqual({
          issues: [fault(field, issue)],
        });
      }
    }
  });

  it.each(allFields)('takes null for %s as not set', (_, schema, path) => {
    const { message } = decodeProtoJson(schema, bodyWith(path, null, snake));
    expect(message).toBeDefined();
  });

  it('names the item of a list', () => {
    const commitments = ['AQ==', '!', null, 7];
    expect(decodeProtoJson(DkgShareExchangeRequestSchema, { commitments }).issues).toEqual([
      fault('commitments[1]', 'invalid_base64'),
      fault('commitments[2]', 'wrong_type'),
      fault('commitments[3]', 'wrong_type'),
    ]);
  });

  it.each([
    ['keystore_type', 'KEYSTORE_TYPE_MPC_FROST', KeystoreType.MPC_FROST],
    ['keystore_type', 'MPC_FROST', KeystoreType.MPC_FROST],
    ['keystoreType', 'mpc_frost', KeystoreType.MPC_FROST],
    ['keystore_type', 'Keystore_Type_Mpc_Frost', KeystoreType.MPC_FROST],
  ])('reads an enum by its own name and its short form, in either case: %s %s', (field, text, value) => {
    const { message } = decodeProtoJson(InitiateSigningRequestSchema, {
      [field]: text,
      approval_mode: 'human_required',
    });
    expect(message).toMatchObject({ keystoreType: value, approvalMode: ApprovalMode.HUMAN_REQUIRED });
  });

  it('names every fault of a body at once', () => {
    const body = { wallet_id: 1, approval_mode: 'MAYBE', context: { client: { client_name: [] } }, message_hash: '?' };
    expect(decodeProtoJson(InitiateSigningRequestSchema, body).issues).toEqual([
      fault('wallet_id', 'wrong_type'),
      fault('approval_mode', 'unknown_enum_value'),
      fault('context.client.client_name', 'wrong_type'),
      fault('message_hash', 'invalid_base64'),
    ]);
  });

  it('says what each field takes', () => {
    const body = { wallet_id: 1, approval_mode: 'MAYBE', context: [], message_hash: 7 };
    expect(decodeProtoJson(InitiateSigningRequestSchema, body).issues?.map(({ message }) => message)).toEqual([
      'takes a string',
      'takes one of APPROVAL_MODE_UNSPECIFIED, DIRECT_ALLOWED, HUMAN_REQUIRED',
      'takes an object',
      'takes a string of base64',
    ]);
    expect(decodeProtoJson(SignatureShareRequestSchema, { node_id: 2 ** 32 }).issues?.[0]?.message).toBe(
      'takes a whole number from -2147483648 to 2147483647',
    );
  });

  it('tells a line end in base64, and the remedy', () => {
    for (const message_hash of ['aGVsbG8=\n', 'aGVsbG8=\r\n']) {
      const [issue] = decodeProtoJson(InitiateSigningRequestSchema, { message_hash }).issues!;
      expect(issue?.message).toMatch(/line end.*base64 -w0.*printf/);
    }
  });

  it('refuses a field given in both spellings', () => {
    expect(decodeProtoJson(InitiateSigningRequestSchema, { wallet_id: 'a', walletId: 'b' }).issues).toEqual([
      fault('wallet_id', 'given_twice'),
    ]);
  });

  it('passes enum numbers on, known or not: the coordinator judges them', () => {
    const body = { approval_mode: 99, keystoreType: -1, mock_directive: 2 };
    expect(decodeProtoJson(InitiateSigningRequestSchema, body).message).toMatchObject({
      approvalMode: 99,
      keystoreType: -1,
      mockDirective: 2,
    });
  });

  it('takes enum names, numbers as text for int32, and base64 of both alphabets, padded or not', () => {
    const { message } = decodeProtoJson(InitiateSigningRequestSchema, {
      approval_mode: 'HUMAN_REQUIRED',
      message_hash: '-_8',
      policy_approval_token: '+/8=',
    });
    expect(message).toMatchObject({ approvalMode: 2 });
    expect(message?.messageHash).toEqual(new Uint8Array([251, 255]));
    expect(message?.policyApprovalToken).toEqual(new Uint8Array([251, 255]));
    expect(decodeProtoJson(SignatureShareRequestSchema, { node_id: '3' }).message?.nodeId).toBe(3);
    expect(decodeProtoJson(SignatureShareRequestSchema, { node_id: 3.0 }).message?.nodeId).toBe(3);
  });

  it('refuses half of a surrogate pair', () => {
    expect(decodeProtoJson(SignatureShareRequestSchema, { signing_session_id: '\ud800' }, true).issues).toEqual([
      fault('signing_session_id', 'invalid_utf8'),
    ]);
    expect(decodeProtoJson(SignatureShareRequestSchema, { signing_session_id: '😀' }, true).message).toBeDefined();
  });

  it('reads whatever the library writes, in both spellings, and judges any JSON as the library does', () => {
    for (const schema of requests) {
      fc.assert(
        fc.property(
          fc.dictionary(fc.constantFrom(...schema.fields.map(snake)), fc.jsonValue({ maxDepth: 3 })),
          (body) => {
            let accepted = true;
            try {
              fromJson(schema, body as Json, { ignoreUnknownFields: true });
            } catch {
              accepted = false;
            }
            const { message, issues } = decodeProtoJson(schema, body as Json);
            if (!accepted) expect(issues?.length).toBeGreaterThan(0);
            if (message) toBinary(schema, message);
          },
        ),
        { numRuns: runs(100, 300) },
      );
    }
  });
});

describe('ProtoJSON out', () => {
  it.each(signingMethods.map((method) => [method.response.name, method.response] as const))(
    'writes every field of %s, and nothing of it is lost',
    (_, schema) => {
      const full = create(schema);
      fill(schema, full as unknown as Record<string, unknown>);
      const bytes = toBinary(schema, full);
      const text = encodeProtoJson(schema, full);
      for (const path of everyField(schema)) {
        const value = path.reduce<unknown>(
          (at, field) => (at as Record<string, unknown>)[field.name],
          JSON.parse(text),
        );
        expect(value, path.map(snake).join('.')).toBeDefined();
      }
      expect(toJson(schema, fromJson(schema, JSON.parse(text)))).toEqual(toJson(schema, fromBinary(schema, bytes)));
    },
  );
});

it.each([
  ['usual', 1, 'RECEIPT_STATE_'],
  ['not usual', 77, 77],
] as const)(
  'ProtoJSON of a message that is %s has every field, and null for messages that are not set',
  (_, state, shown) => {
    let tried = 0;
    for (const { response } of signingMethods) {
      const fields = response.fields.filter(({ fieldKind }) => fieldKind === 'message');
      for (const [index, field] of fields.entries()) {
        if (field.message !== DiagnosticReceiptSchema) continue;
        const given = create(response, {
          [field.localName]: create(DiagnosticReceiptSchema, { state: state as never }),
        });
        const json = JSON.parse(encodeProtoJson(response, given));
        expect(Object.keys(json).sort()).toEqual(response.fields.map(({ name }) => name).sort());
        expect(json[field.name].state).toEqual(shown === 77 ? 77 : expect.stringContaining(shown));
        tried += 1;
        for (const [other, { name }] of fields.entries()) if (other !== index) expect(json[name]).toBeNull();
      }
      const nothing = JSON.parse(encodeProtoJson(response, create(response)));
      expect(fields.map(({ name }) => nothing[name])).toEqual(fields.map(() => null));
    }
    expect(tried).toBe(signingMethods.length);
  },
);

describe('the plans for what is usual', () => {
  /** Values of a field, in ProtoJSON or, with `isJson` false, in a message; undefined: a message that is not set. */
  function fieldValue(field: DescField, isJson: boolean): fc.Arbitrary<unknown> {
    const bytes = fc.uint8Array({ maxLength: 40 });
    switch (field.fieldKind) {
      case 'message':
        return fc.option(messageOf(field.message, isJson), { nil: undefined });
      case 'enum':
        return fc.constantFrom(...field.enum.values.map(({ name, number }) => (isJson ? name : number)));
      case 'list':
        return fc.array<unknown>(isJson ? bytes.map(base64) : bytes, { maxLength: 3 });
      default:
        if (field.scalar === ScalarType.STRING) return fc.string({ unit: codePoint });
        if (field.scalar === ScalarType.BYTES) return isJson ? bytes.map(base64) : bytes;
        if (field.scalar === ScalarType.BOOL) return fc.boolean();
        return field.scalar === ScalarType.INT32 ? fc.integer() : fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    }
  }

  function messageOf(schema: DescMessage, isJson: boolean): fc.Arbitrary<Record<string, unknown>> {
    const named = schema.fields.map(
      (field) => [isJson ? field.name : field.localName, fieldValue(field, isJson)] as const,
    );
    return fc.record(Object.fromEntries(named), { requiredKeys: [] }).map((values) => {
      const entries = Object.entries(values).filter(([, value]) => value !== undefined);
      return isJson ? Object.fromEntries(entries) : create(schema, Object.fromEntries(entries));
    });
  }

  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

  it.each(requests)('read of $typeName what the library reads', (schema) => {
    fc.assert(
      fc.property(messageOf(schema, true), (body) => {
        const read = readPlanned(schema, body);
        if (schema !== DkgShareExchangeRequestSchema) expect(read).toBeDefined();
        if (read !== undefined) expect(read).toEqual(fromJson(schema, body as Json, { ignoreUnknownFields: true }));
      }),
      { numRuns: runs(20, 50) },
    );
  });

  it.each(signingMethods.map(({ response }) => response))('write of $typeName what the library writes', (schema) => {
    fc.assert(
      fc.property(messageOf(schema, false), (message) => {
        const given = create(schema, message);
        const json = toJson(schema, given, { useProtoFieldName: true, alwaysEmitImplicit: true });
        expect(writePlanned(schema, given, false)).toBe(JSON.stringify(json));
      }),
      { numRuns: runs(20, 50) },
    );
  });

  it('read the least and the greatest whole number of 32 bits', () => {
    for (const total_nodes of [-(2 ** 31), 2 ** 31 - 1]) {
      expect(readPlanned(InitiateDkgRequestSchema, { total_nodes })).toMatchObject({ totalNodes: total_nodes });
    }
    expect(readPlanned(InitiateDkgRequestSchema, { total_nodes: 2 ** 31 })).toBeUndefined();
  });

  it('leave to the library what is not usual', () => {
    const unusual: Json[] = [
      { message_hash: 'AAF' },
      { message_hash: 'A/_-' },
      { wallet_id: null },
      { wallet_id: 'a', walletId: 'b' },
      { approval_mode: 1 },
      { context: [] },
    ];
    for (const body of unusual)
      expect(readPlanned(InitiateSigningRequestSchema, body), JSON.stringify(body)).toBeUndefined();
    const receipt = create(DiagnosticReceiptSchema, { state: 77 as never });
    expect(writePlanned(DiagnosticReceiptSchema, receipt, false)).toBeUndefined();
  });
});

/** Sets every field to something that is not its default. */
function fill(schema: DescMessage, message: Record<string, unknown>): void {
  for (const field of schema.fields) {
    if (field.fieldKind === 'message') {
      const inner = create(field.message) as unknown as Record<string, unknown>;
      fill(field.message, inner);
      message[field.localName] = inner;
    } else if (field.fieldKind === 'enum') message[field.localName] = field.enum.values.at(-1)!.number;
    else
      message[field.localName] = { 3: 9_007_199_254_740_993n, 8: true, 9: 'täxt', 12: new Uint8Array([9]) }[
        field.scalar as number
      ];
  }
}
