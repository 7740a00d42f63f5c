/**
 * Slots of Redis Cluster: a key's slot follows from its hash tag, the text between its first "{" and the next "}", or from
 * the whole key when it has none (Redis Cluster specification, "Hash tags"). One command or script touches one slot.
 *
 * Every key of ours whose scripts touch others has a tag. The tags:
 *
 * | Tag | Keys |
 * |---|---|
 * | `{t:<tenant>}` | everything of a tenant: sessions, keys, records, balances, events, its due entries, webhooks, limits |
 * | `{due:<kind>}` | the registry of due work of a kind |
 * | `{clusters}` | the registry of clusters |
 * | `{chain:<network>}` | a simulated chain |
 * | `{sm-hooks}`, `{sm-recon}` | the queues of BullMQ |
 *
 * Independent keys (tokens by hash, addresses, fence counters, probes, heartbeats) have no tag: no script touches them
 * together with another key.
 */

export const slotsTotal = 16_384;

/** The part of a key that determines the slot. An empty tag is none. */
export function tagOf(key: string): string {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}

/** CRC16 (XMODEM: polynomial 0x1021, from 0) of the tag, modulo the number of slots. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tagOf(key))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0);
    crc &= 0xffff;
  }
  return crc % slotsTotal;
}

const keyless: ReadonlySet<string> = new Set(['FLUSHDB', 'KEYS', 'PING', 'PUBLISH', 'TIME', 'DBSIZE']);
const keysAlone: ReadonlySet<string> = new Set(['DEL', 'EXISTS', 'MGET', 'UNLINK']);

/**
 * The common tag of all keys of a command that the in-memory Redis supports; undefined: it names none. Throws a RangeError for
 * keys of several tags, or of another tag than `expected`: a Redis Cluster refuses keys of different slots.
 */
export function oneTag(command: string, args: readonly string[], expected?: string): string | undefined {
  const name = command.toUpperCase();
  if (keyless.has(name)) return expected;
  let tag = expected;
  for (const key of keysAlone.has(name) ? args : args.slice(0, 1)) {
    const own = tagOf(key);
    if (tag !== undefined && own !== tag) {
      throw new RangeError(
        `CROSSSLOT ${name} names ${JSON.stringify(key)} beside keys of the tag ${JSON.stringify(tag)}`,
      );
    }
    tag = own;
  }
  return tag;
}

/**
 * A key that never exists, in the slot of this one. While a slot migrates to another node, Redis refuses a whole command
 * (TRYAGAIN) whose keys exist only in part, or are not all at the destination: so a script that names this key never runs over
 * half of a slot.
 */
export function absentKey(key: string): string {
  return `{${tagOf(key)}}:absent`;
}
