/**
 * The kinds of value of an environment variable: how each parses its text, and the words for an error. Texts in, values out; this
 * file knows no variable.
 */
import { isAbsolute, resolve } from 'node:path';
import { redisAddress } from '../../core/redis/address.ts';

export interface Kind<T> {
  /** The allowed values, as in the docs and after "must be". */
  readonly allowed: string;
  /** undefined: the text is not allowed. */
  readonly parse: (text: string) => T | undefined;
  /** The notation of a default in the docs. */
  readonly print: (value: T) => string;
}

export function integer(min: number, max: number, what = 'an integer'): Kind<number> {
  return {
    allowed: `${what} from ${min} to ${max}`,
    parse: (text) => {
      if (!/^\d{1,15}$/.test(text)) return undefined;
      const value = Number(text);
      return value >= min && value <= max ? value : undefined;
    },
    print: String,
  };
}

/** Whole numbers, separated by commas. */
export function integers(min: number, max: number, countMax: number, what: string): Kind<readonly number[]> {
  const one = integer(min, max);
  return {
    allowed: `1 to ${countMax} ${what} from ${min} to ${max}, separated by commas`,
    parse: (text) => {
      const values = text.split(',').map((part) => one.parse(part.trim()));
      return values.length <= countMax && values.every((value) => value !== undefined) ? values : undefined;
    },
    print: (values) => values.join(','),
  };
}

export const portOrFree = (): Kind<number> => ({
  ...integer(0, 65_535, 'a port'),
  allowed: 'a port from 1 to 65535, or 0 for a free one',
});

/** 32 bytes as hex digits. */
export function hexKey(): Kind<string> {
  return {
    allowed: '64 hex digits',
    parse: (text) => (/^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : undefined),
    print: (value) => value,
  };
}

export function choice<const C extends string>(...choices: readonly C[]): Kind<C> {
  return {
    allowed: choices.map((each) => `\`${each}\``).join(' or '),
    parse: (text) => choices.find((each) => each === text),
    print: (value) => value,
  };
}

export function onOff(): Kind<boolean> {
  return {
    allowed: '`on` or `off`',
    parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
    print: (value) => (value ? 'on' : 'off'),
  };
}

/** Relative paths are resolved against the current directory, once, here. */
export function path(): Kind<string> {
  return {
    allowed: 'a path',
    parse: (text) => (text.includes('\0') ? undefined : isAbsolute(text) ? text : resolve(text)),
    print: (value) => value,
  };
}

export function host(): Kind<string> {
  return {
    allowed: 'a host name or an IP address',
    parse: (text) => (/^[A-Za-z0-9._:-]{1,253}$/.test(text) ? text : undefined),
    print: (value) => value,
  };
}

export function url(...protocols: readonly string[]): Kind<string> {
  return {
    allowed: `a URL that starts with ${protocols.map((each) => `\`${each}//\``).join(' or ')}`,
    parse: (text) =>
      URL.canParse(text) && protocols.includes(new URL(text).protocol) && new URL(text).hostname !== ''
        ? text
        : undefined,
    print: (value) => value,
  };
}

/** One Redis, or some nodes of a Redis Cluster. */
export function redis(): Kind<string> {
  return {
    allowed: 'a URL that starts with `redis://` or `rediss://`; of a Redis Cluster several nodes, separated by commas',
    parse: (text) => (redisAddress(text) === undefined ? undefined : text),
    print: (value) => value,
  };
}

/** One, or several separated by commas. */
export function urls(countMax: number, ...protocols: readonly string[]): Kind<readonly string[]> {
  const one = url(...protocols);
  return {
    allowed: `${one.allowed}; or several, separated by commas`,
    parse: (text) => {
      const values = text.split(',').map((part) => one.parse(part.trim()));
      return values.length <= countMax && values.every((value) => value !== undefined) ? values : undefined;
    },
    print: (values) => values.join(','),
  };
}

/** Of pages (RFC 6454 §6.2), or "*" for all. */
export function origins(countMax: number): Kind<readonly string[]> {
  const isOrigin = (value: string) =>
    /^https?:[^*]+$/.test(value) && URL.canParse(value) && new URL(value).origin === value;
  return {
    allowed: `\`*\`, or up to ${countMax} origins such as \`https://app.example.com\`, separated by commas`,
    parse: (given) => {
      const values = given.split(',').map((part) => part.trim());
      return values.length <= countMax && values.every((value) => value === '*' || isOrigin(value))
        ? values
        : undefined;
    },
    print: (values) => values.join(','),
  };
}

export function hostNames(countMax: number): Kind<readonly string[]> {
  const isName = (value: string) => value.length <= 253 && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(value);
  return {
    allowed: `\`*\`, or up to ${countMax} names such as \`sandbox.example.com\`, separated by commas`,
    parse: (given) => {
      const values = given.split(',').map((part) => part.trim());
      return values.length <= countMax && values.every((value) => value === '*' || isName(value)) ? values : undefined;
    },
    print: (values) => values.join(','),
  };
}

export function text(charsMax: number): Kind<string> {
  return {
    allowed: `a text of at most ${charsMax} characters`,
    parse: (value) => (value.length <= charsMax ? value : undefined),
    print: (value) => value,
  };
}
