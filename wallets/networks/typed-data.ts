/**
 * Typed data (EIP-712) of a wallet: read strictly, so that every value has one spelling and is shown and hashed as what it is. `ethers`
 * hashes it, and refuses types that are unknown, unused or in a circle; it would take `"false"` for true and ignore surplus fields,
 * which is refused here. Pure.
 *
 * Integers become decimal texts; addresses and bytes lower-case hex.
 */
import { TypedDataEncoder } from 'ethers/hash';
import { addressProblem } from './addresses.ts';
import type { NetworkId } from './networks.ts';

export interface TypedField {
  readonly name: string;
  readonly type: string;
}

export interface TypedData {
  /** With EIP712Domain. */
  readonly types: Readonly<Record<string, readonly TypedField[]>>;
  readonly primaryType: string;
  readonly domain: Readonly<Record<string, unknown>>;
  readonly message: Readonly<Record<string, unknown>>;
}

export const typedDataLimits = {
  types: 20,
  /** Fields of all types. */
  typeFields: 200,
  /** Values, structs and lists of a message and its domain, and types within types. */
  values: 200,
  nameChars: 64,
} as const;

/** `field`: a path, e.g. "typed_data.message.amount". The message is the remedy. */
export class InvalidTypedData extends Error {
  override readonly name = 'InvalidTypedData';
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

const domainName = 'EIP712Domain';
/** In the order of EIP-712. */
const domainFields: readonly TypedField[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
];

/** Throws InvalidTypedData. The types of `given` have the form of TypedData, its values any. */
export function readTypedData(network: NetworkId, given: TypedData): TypedData {
  const { [domainName]: ownDomain, ...types } = given.types;
  checkTypes(types);
  const domainType = domainFields.filter(({ name }) => Object.hasOwn(given.domain, name));
  if (ownDomain !== undefined && JSON.stringify(ownDomain.map(spelled)) !== JSON.stringify(domainType.map(spelled))) {
    const order = domainFields.map(({ name, type }) => `${type} ${name}`).join(', ');
    refuse(`types.${domainName}`, `lists the fields that domain has, in this order: ${order}; or is left out`);
  }
  const { primaryType } = encoderOf(types);
  if (given.primaryType !== primaryType)
    refuse('primaryType', `must be ${primaryType}, the type that no other one uses`);
  const values = new Values(network, { ...types, [domainName]: domainType });
  const domain = values.read(domainName, given.domain, 'domain') as TypedData['domain'];
  const chainId = network.slice('eip155:'.length);
  if (domain.chainId !== chainId) refuse('domain.chainId', `must be ${chainId}, the wallet’s network`);
  const message = values.read(primaryType, given.message, 'message') as TypedData['message'];
  return { types: { [domainName]: domainType, ...types }, primaryType, domain, message };
}

/** Of typed data as it was read: `0x` and 64 hex digits. */
export function hashTypedData({ types: { [domainName]: _, ...types }, domain, message }: TypedData): string {
  return TypedDataEncoder.hash(domain, copied(types), message);
}

/** Its types in the canonical text of EIP-712, by which a contract knows them. */
export function typeTextOf({ types: { [domainName]: _, ...types }, primaryType }: TypedData): string {
  return encoderOf(types).encodeType(primaryType);
}

/** Every value by its path: `primaryType`, `domain.name`, `message.orders[0].price`. */
export function fieldsOf({ primaryType, domain, message }: TypedData): ReadonlyMap<string, string> {
  const fields = new Map([['primaryType', primaryType]]);
  const add = (path: string, value: unknown): void => {
    if (Array.isArray(value)) for (const [index, one] of value.entries()) add(`${path}[${index}]`, one);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) add(`${path}.${name}`, one);
    } else fields.set(path, String(value));
  };
  add('domain', domain);
  add('message', message);
  return fields;
}

function refuse(field: string, message: string): never {
  throw new InvalidTypedData(`typed_data.${field}`, message);
}

const baseType = /^(?:u?int\d*|bytes\d*|address|bool|string)$/;

function checkTypes(types: TypedData['types']): void {
  const names = Object.keys(types);
  const fieldCount = Object.values(types).reduce((sum, { length }) => sum + length, 0);
  const { types: typesMax, typeFields, nameChars, values } = typedDataLimits;
  if (names.length > typesMax || fieldCount > typeFields) {
    refuse('types', `takes at most ${typesMax} types, with ${typeFields} fields in all`);
  }
  const isName = (text: string) => /^[A-Za-z_$][\w$]*$/.test(text) && text.length <= nameChars && !(text in {});
  for (const name of names) {
    if (!isName(name) || baseType.test(name)) refuse(`types.${name}`, 'is not the name of a struct');
    types[name]!.forEach((field, index) => {
      const at = `types.${name}[${index}]`;
      if (!isName(field.name)) refuse(`${at}.name`, 'is not a name');
      if (!/^[\w$]+(?:\[[1-9]?\d{0,2}\])*$/.test(field.type) || field.type.length > nameChars)
        refuse(`${at}.type`, 'is not a type');
      if (/^u?int\b/.test(field.type)) refuse(`${at}.type`, 'takes a width, such as uint256');
    });
  }
  // The encoder follows every way through the types: few types have very many.
  let left: number = values;
  const follow = (name: string): void => {
    left -= 1;
    if (left < 0) refuse('types', `nest in a circle, or more than ${values} deep and wide`);
    const inner = (types[name] ?? []).map(({ type }) => type.replace(/\[.*$/, ''));
    for (const one of new Set(inner)) if (Object.hasOwn(types, one)) follow(one);
  };
  names.forEach(follow);
}

/** Throws InvalidTypedData for types that are unknown, unused or in a circle. */
function encoderOf(types: TypedData['types']): TypedDataEncoder {
  try {
    return TypedDataEncoder.from(copied(types));
  } catch (error) {
    const { shortMessage } = error as { readonly shortMessage?: string };
    if (shortMessage === undefined) throw error;
    return refuse('types', shortMessage);
  }
}

/** The library's types are mutable. */
function copied(types: TypedData['types']): Record<string, TypedField[]> {
  return Object.fromEntries(Object.entries(types).map(([name, fields]) => [name, [...fields]]));
}

function spelled({ name, type }: TypedField): string {
  return `${type} ${name}`;
}

/** Reads the values of some types. */
class Values {
  readonly #network: NetworkId;
  readonly #types: TypedData['types'];
  #left: number = typedDataLimits.values;

  constructor(network: NetworkId, types: TypedData['types']) {
    this.#network = network;
    this.#types = types;
  }

  read(type: string, value: unknown, path: string): unknown {
    this.#left -= 1;
    if (this.#left < 0) refuse(path, `is beyond the ${typedDataLimits.values} values that typed data may have`);
    const [, item, length] = /^(.*)\[(\d*)\]$/.exec(type) ?? [];
    if (item !== undefined) {
      if (!Array.isArray(value)) refuse(path, 'takes a list');
      if (length !== '' && value.length !== Number(length)) refuse(path, `takes a list of ${length}`);
      return value.map((one, index) => this.read(item, one, `${path}[${index}]`));
    }
    if (!Object.hasOwn(this.#types, type)) return this.#leaf(type, value, path);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(path, 'takes an object');
    const fields = this.#types[type]!;
    const unknown = Object.keys(value).find((name) => !fields.some((field) => field.name === name));
    if (unknown !== undefined) refuse(`${path}.${unknown}`, `is no field of ${type}`);
    return Object.fromEntries(
      fields.map(({ name, type }) => {
        if (!Object.hasOwn(value, name)) refuse(`${path}.${name}`, 'is missing');
        return [name, this.read(type, (value as Readonly<Record<string, unknown>>)[name], `${path}.${name}`)];
      }),
    );
  }

  #leaf(type: string, value: unknown, path: string): string | boolean {
    const [, unsigned, width] = /^(u?)int(\d+)$/.exec(type) ?? [];
    if (width !== undefined) return integer(value, unsigned === 'u', Number(width), path);
    switch (type) {
      case 'bool':
        return typeof value === 'boolean' ? value : refuse(path, 'takes true or false');
      case 'string':
        return typeof value === 'string' && !/\p{Cs}/u.test(value) ? value : refuse(path, 'takes a text');
      case 'address': {
        const isAddress = typeof value === 'string' && addressProblem(this.#network, value) === undefined;
        return isAddress ? value.toLowerCase() : refuse(path, 'takes an address');
      }
    }
    const size = type.slice('bytes'.length);
    const isHex = typeof value === 'string' && /^0x(?:[0-9a-f]{2})*$/i.test(value);
    if (!isHex || (size !== '' && value.length !== 2 + 2 * Number(size))) {
      refuse(path, `takes ${size === '' ? '' : `${size} `}bytes as 0x and hex digits`);
    }
    return value.toLowerCase();
  }
}

function integer(value: unknown, isUnsigned: boolean, width: number, path: string): string {
  const isWritten =
    typeof value === 'number'
      ? Number.isSafeInteger(value)
      : typeof value === 'string' && /^(?:-?(?:0|[1-9]\d{0,77})|0x[0-9a-f]{1,64})$/i.test(value);
  if (isWritten) {
    const number = BigInt(value as string | number);
    const [min, max] = isUnsigned ? [0n, 1n << BigInt(width)] : [-(1n << BigInt(width - 1)), 1n << BigInt(width - 1)];
    if (number >= min && number < max) return number.toString();
  }
  return refuse(
    path,
    `takes a whole number of ${isUnsigned ? 'u' : ''}int${width}: a safe JSON number, decimal text or 0x hex`,
  );
}
