/** Answers of the signing API over HTTP, as its callers read them. */
import type { DescMessage, JsonObject, MessageShape } from '@bufbuild/protobuf';
import { decodeProtoJson } from '../../../gateway/api/proto-json.ts';

/** Throws Error, which names the first field that is not valid. */
export function readAnswer<D extends DescMessage>(schema: D, answer: object): MessageShape<D> {
  const { message, issues } = decodeProtoJson(schema, answer as JsonObject);
  if (issues === undefined) return message;
  throw new Error(`the answer does not decode as ${schema.name}: ${issues[0]?.field}: ${issues[0]?.issue}`);
}
