/** The parts of the schemas of faults and scenarios. JSON Schema 2020-12. */
import Type, { type TObject, type TProperties } from 'typebox';

/** A closed object: an unknown field is an error. */
export function Closed<T extends TProperties>(properties: T, options: object = {}): TObject<T> {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

export function OneOf<const V extends readonly string[]>(values: V, description: string) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], description });
}
