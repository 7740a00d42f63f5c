/**
 * The names of the contract's enums, from their descriptors. A value's short form lacks the prefix that repeats the enum's own
 * name (MPC_FROST of KEYSTORE_TYPE_MPC_FROST); some values have no prefix (HUMAN_REQUIRED).
 */
import type { DescEnum } from '@bufbuild/protobuf';

interface Names {
  readonly byNumber: ReadonlyMap<number, string>;
  /** By own name and by short form, in upper case. */
  readonly byText: ReadonlyMap<string, string>;
}

const known = new WeakMap<DescEnum, Names>();

function namesOf(desc: DescEnum): Names {
  let names = known.get(desc);
  if (names === undefined) {
    names = {
      byNumber: new Map(desc.values.map(({ number, name }) => [number, name])),
      byText: new Map(desc.values.flatMap(({ name }) => [name, shortOf(desc, name)].map((text) => [text, name]))),
    };
    known.set(desc, names);
  }
  return names;
}

function shortOf({ name: enumName }: DescEnum, name: string): string {
  const prefix = `${enumName.replace(/(?!^)[A-Z]/g, '_$&').toUpperCase()}_`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** All own names, in the order of the contract. */
export function enumNames(desc: DescEnum): readonly string[] {
  return desc.values.map(({ name }) => name);
}

/** The own name of a value; of an unknown number its digits. */
export function enumName(desc: DescEnum, number: number): string {
  return namesOf(desc).byNumber.get(number) ?? String(number);
}

/** The own name that a text means: itself or its short form, in either case; undefined: none. */
export function readEnumName(desc: DescEnum, text: string): string | undefined {
  return namesOf(desc).byText.get(text.toUpperCase());
}

/** The ways to write the values with these short forms in any case: as given, in upper case, and the own names. */
export function enumSpellings(desc: DescEnum, values: readonly string[]): readonly string[] {
  return [...new Set([...values, ...values.map((value) => value.toUpperCase()), ...values.map(ownName)])];

  function ownName(value: string): string {
    const name = readEnumName(desc, value);
    if (name === undefined) throw new Error(`${desc.name} has no value ${value}`);
    return name;
  }
}
