/**
 * Why a Redis cannot be used, as one line for the operator: the problem and the remedy. Every role and command uses this text.
 * A line never contains a password.
 *
 * Redis's error texts come from its source (server.c, networking.c, `shared.*err`), redis 7.
 */

export interface RedisRefusal {
  /** Redis's error code (`OOM`), a system error's code (`ECONNREFUSED`), `TIMEOUT`, `CLOSED` or `UNKNOWN`. */
  readonly code: string;
  /** After "Redis at host:port": a predicate without a full stop. */
  readonly text: string;
  /** It resolves without an operator: Redis is busy or still starting. */
  readonly isTransient: boolean;
}

interface Wording {
  readonly pattern: RegExp;
  readonly code: string;
  readonly text: string;
  readonly isTransient?: true;
}

const wordings: readonly Wording[] = [
  { pattern: /^NOAUTH\b/, code: 'NOAUTH', text: 'asks for a password: put it into REDIS_URL (redis://:PASSWORD@host)' },
  { pattern: /^WRONGPASS\b/, code: 'WRONGPASS', text: 'refuses the user or the password: correct REDIS_URL' },
  {
    pattern: /^DENIED\b.*protected mode/s,
    code: 'DENIED',
    text: 'is in protected mode, which takes connections from its own machine alone: give it a password (requirepass), and put that into REDIS_URL',
  },
  {
    pattern: /^NOPERM\b/,
    code: 'NOPERM',
    text: 'does not let this user run the commands that signmesh needs: widen its ACL',
  },
  {
    pattern: /^READONLY\b/,
    code: 'READONLY',
    text: 'is a read-only replica and refuses writes: name its primary in REDIS_URL',
  },
  {
    pattern: /^MISCONF\b.*\bAOF\b/s,
    code: 'MISCONF',
    text: 'refuses writes: it cannot write its append-only file, as when its disk is full',
  },
  {
    pattern: /^MISCONF\b/,
    code: 'MISCONF',
    text: 'refuses writes: it cannot save to its disk (full, or not writable); its own log says why',
  },
  { pattern: /^OOM\b/, code: 'OOM', text: 'refuses writes: it has used up its memory (maxmemory); give it more' },
  {
    pattern: /^LOADING\b/,
    code: 'LOADING',
    text: 'is still loading its data',
    isTransient: true,
  },
  { pattern: /^BUSY\b/, code: 'BUSY', text: 'is busy with a script that does not end', isTransient: true },
  {
    pattern: /^MASTERDOWN\b/,
    code: 'MASTERDOWN',
    text: 'is a replica that has lost its primary',
    isTransient: true,
  },
  {
    pattern: /^NOREPLICAS\b/,
    code: 'NOREPLICAS',
    text: 'refuses writes: it has fewer replicas than min-replicas-to-write',
  },
  {
    pattern: /\bCLUSTERDOWN\b|attempted to access keys while the cluster is down/,
    code: 'CLUSTERDOWN',
    text: 'is a Redis Cluster in which some slots have no master now (of a Redis Cluster REDIS_URL names several nodes)',
    isTransient: true,
  },
  {
    pattern: /^(TRYAGAIN|ASK|Too many Cluster redirections)\b|attempted to access a non local key/,
    code: 'TRYAGAIN',
    text: 'is moving this slot to another node: retry when it has moved',
    isTransient: true,
  },
  {
    pattern: /^(MOVED|CROSSSLOT)\b/,
    code: 'CLUSTER',
    text: 'is a node of a Redis Cluster: list several of its nodes in REDIS_URL, with commas between them',
  },
  {
    pattern: /cluster support disabled/,
    code: 'NOT_CLUSTER',
    text: 'is no Redis Cluster: name one Redis in REDIS_URL, without a list',
  },
  {
    pattern: /^REPLICAS\b/,
    code: 'REPLICAS',
    text: 'has fewer replicas that follow it than SIGNMESH_REDIS_WAIT_REPLICAS asks for',
    isTransient: true,
  },
  {
    pattern: /max number of clients/,
    code: 'MAXCLIENTS',
    text: 'has as many clients as it takes (maxclients)',
    isTransient: true,
  },
  { pattern: /timed? ?out|ETIMEDOUT/i, code: 'TIMEOUT', text: 'does not answer', isTransient: true },
  {
    pattern: /unable to (verify|get)|self.signed certificate/i,
    code: 'TLS',
    text: 'shows a certificate of an unknown authority: name its file in NODE_EXTRA_CA_CERTS',
  },
  {
    pattern: /does not match certificate's altnames/i,
    code: 'TLS',
    text: 'shows a certificate for another host: name the host of its certificate in REDIS_URL',
  },
  { pattern: /certificate has expired/i, code: 'TLS', text: 'shows a certificate that has expired: renew it' },
  {
    pattern: /certificate required/i,
    code: 'TLS',
    text: 'asks its clients for certificates, and signmesh shows none: set tls-auth-clients to no',
  },
  {
    pattern: /wrong version number|packet length too long/i,
    code: 'TLS',
    text: 'does not speak TLS: write redis:// in REDIS_URL, or name its tls-port',
  },
  {
    pattern: /Unknown RESP type|Protocol error, got/,
    code: 'NOT_REDIS',
    text: 'does not speak like a Redis: correct REDIS_URL',
  },
];

const systemTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'cannot be reached: nothing listens there',
  ENOTFOUND: 'cannot be reached: its name is not known',
  EAI_AGAIN: 'cannot be reached: its name cannot be looked up now',
  EHOSTUNREACH: 'cannot be reached: there is no way to its host',
  ENETUNREACH: 'cannot be reached: there is no way to its network',
  ECONNRESET: 'closes every connection',
  EPIPE: 'closes every connection',
};

/** Errors of a client library without a connection: they do not give the cause. */
const withoutReason =
  /writeable|Connection is closed|max retries per request|Cluster isn't ready|startup nodes is available|Failed to refresh slots|Cluster is (disconnect|ended)/i;
const textCharsMax = 200;

/** undefined: the error only says that there is no connection, not why. */
export function redisRefusal(error: unknown): RedisRefusal | undefined {
  if (error === undefined) return undefined;
  const { code, message, lastNodeError } = error as { code?: unknown; message?: unknown; lastNodeError?: unknown };
  // The client of a Redis Cluster says this when no node has answered.
  if (lastNodeError) return redisRefusal(lastNodeError);
  const text = typeof message === 'string' ? message : String(error);
  if (typeof code === 'string' && systemTexts[code] !== undefined) {
    return { code, text: systemTexts[code], isTransient: false };
  }
  const found = wordings.find(({ pattern }) => pattern.test(text));
  if (found !== undefined) {
    return { code: found.code, text: `${found.text} (${found.code})`, isTransient: found.isTransient === true };
  }
  if (withoutReason.test(text)) return undefined;
  const [line = ''] = text.split('\n', 1);
  return {
    code: 'UNKNOWN',
    text: `cannot be used: ${line.slice(0, textCharsMax).replace(/\.$/, '')}`,
    isTransient: false,
  };
}

/** It closes connections and does not say why, or has not been heard of. */
export const closedRefusal: RedisRefusal = {
  code: 'CLOSED',
  text: 'closes every connection without a word',
  isTransient: false,
};

/** "Redis at host:port": without user and password. `url`: of a Redis Cluster a list (core/redis/address.ts). */
export function redisName(url: string): string {
  const places = url.split(',').map((part) => {
    const { host, hostname } = new URL(/^rediss?:/.test(part.trim()) ? part : `redis://${part.trim()}`);
    return host === hostname ? `${host}:6379` : host;
  });
  return `Redis at ${places.join(', ')}`;
}
