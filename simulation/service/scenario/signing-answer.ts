/** Answers of the signing API, and of the refresh of a key, over HTTP, as their callers read them. */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { decodeProtoJson } from '../../../gateway/api/proto-json.ts';
import { type MakeKeyResponse, MakeKeyResponseSchema } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';

/** Throws Error, which names the first field that is not valid. */
export function readAnswer<D extends DescMessage>(schema: D, answer: object): MessageShape<D> {
  const { message, issues } = decodeProtoJson(schema, answer as JsonObject);
  if (issues === undefined) return message;
  throw new Error(`the answer does not decode as ${schema.name}: ${issues[0]?.field}: ${issues[0]?.issue}`);
}

export function refreshPath(keyId: string): string {
  return `/v1/sandbox/keys/${encodeURIComponent(keyId)}/refresh`;
}

/** `answer`: SandboxKeyRefresh. */
export function readRefresh(answer: object): MakeKeyResponse {
  const { state, reason_code, message, culprits } = answer as Readonly<Record<string, JsonValue>>;
  const receipt = { state, reason_code, message } as JsonObject;
  return readAnswer(MakeKeyResponseSchema, { receipt, checkpoint: { state }, culprits } as JsonObject);
}
