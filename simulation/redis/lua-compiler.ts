/**
 * Redis scripts in JavaScript: the Lua 5.1 of our `.lua` files, compiled from the very text that Redis runs, so that the
 * in-memory Redis reimplements no logic. It covers the features that these files use, and throws LuaUnsupported for others.
 *
 * Values: nil is undefined; strings are strings of bytes (one character a byte); a table is a LuaTable. A function of a
 * script returns the array of its results. Operations that Lua refuses (arithmetic on nil, a comparison of a number with a
 * string) throws a LuaError.
 */
import { type Expression, type Node, parse, type Statement } from 'luaparse';
import { type LuaLibrary, library } from './lua-library.ts';

export class LuaUnsupported extends Error {
  override readonly name = 'LuaUnsupported';
}

/** A compiled script: `call` performs a Redis command. Returns the script's value. */
export type Compiled = (keys: readonly string[], args: readonly string[], call: RedisCall) => unknown;
/** Arguments and answer in Lua's values. */
export type RedisCall = (command: string, args: readonly unknown[]) => unknown;

/** Functions of the library by their names in Lua; `many`: they return an array of results. */
const functions: Readonly<Record<string, { readonly js: keyof LuaLibrary; readonly many?: true }>> = {
  tonumber: { js: 'tonumber' },
  tostring: { js: 'tostring' },
  type: { js: 'type' },
  unpack: { js: 'unpack', many: true },
  error: { js: 'error' },
  'string.sub': { js: 'sub' },
  'string.format': { js: 'format' },
  'string.match': { js: 'match', many: true },
  'string.gsub': { js: 'gsub', many: true },
  'string.find': { js: 'find', many: true },
  'string.rep': { js: 'rep' },
  'table.concat': { js: 'concatTable' },
  'table.insert': { js: 'insert' },
  'table.remove': { js: 'remove' },
  'math.max': { js: 'max' },
  'math.min': { js: 'min' },
  'math.floor': { js: 'floor' },
  'cjson.decode': { js: 'decode' },
  'cjson.encode': { js: 'encode' },
  'redis.sha1hex': { js: 'sha1' },
  'redis.status_reply': { js: 'statusReply' },
  'redis.error_reply': { js: 'errorReply' },
};

const iterators = new Set(['ipairs', 'string.gmatch']);

const arithmetic: Readonly<Record<string, string>> = { '+': '+', '-': '-', '*': '*', '/': '/' };
const comparisons: Readonly<Record<string, string>> = { '<': 'lt', '<=': 'le' };

/** Throws LuaUnsupported, or the parser's error for text that is no Lua 5.1. */
export function compileLua(source: string): Compiled {
  const { body } = parse(source, { luaVersion: '5.1', comments: false });
  const code = new Compiler().chunk(body);
  const made = new Function('$', 'KEYS', 'ARGV', '$call', code) as (
    $: LuaLibrary,
    keys: unknown,
    args: unknown,
    call: RedisCall,
  ) => readonly unknown[];
  return (keys, args, call) => made(library, library.list(keys), library.list(args), call)[0];
}

class Compiler {
  #names = 0;
  /** Temporaries of the functions being compiled, the innermost last. */
  readonly #temporaries: string[][] = [];
  /** Lua's names to JavaScript's, the innermost block last. */
  readonly #scopes: Map<string, string>[] = [];

  chunk(body: readonly Statement[]): string {
    return this.#function([], body);
  }

  #function(parameters: readonly string[], body: readonly Statement[]): string {
    this.#temporaries.push([]);
    const scope = new Map(parameters.map((name) => [name, this.#fresh(name)]));
    this.#scopes.push(scope);
    const code = this.#block(body);
    this.#scopes.pop();
    const temporaries = this.#temporaries.pop()!;
    const declared = temporaries.length === 0 ? '' : `let ${temporaries.join(',')};`;
    return `${declared}${code}return [];`;
  }

  #fresh(name: string): string {
    this.#names += 1;
    return `${name}_${this.#names}`;
  }

  #temporary(): string {
    const name = this.#fresh('$t');
    this.#temporaries.at(-1)!.push(name);
    return name;
  }

  #declare(name: string): string {
    const js = this.#fresh(name);
    this.#scopes.at(-1)!.set(name, js);
    return js;
  }

  #block(body: readonly Statement[]): string {
    this.#scopes.push(new Map());
    const code = body.map((statement) => this.#statement(statement)).join('');
    this.#scopes.pop();
    return code;
  }

  #statement(node: Statement): string {
    switch (node.type) {
      case 'LocalStatement':
        return this.#local(node.variables, node.init);
      case 'AssignmentStatement':
        return this.#assignment(node.variables, node.init);
      case 'CallStatement':
        return `${this.#call(node.expression)};`;
      case 'FunctionDeclaration': {
        if (!node.isLocal || node.identifier?.type !== 'Identifier')
          return unsupported(node, 'a function that is not local');
        const name = this.#declare(node.identifier.name);
        return `const ${name}=${this.#closure(node)};`;
      }
      case 'IfStatement':
        return node.clauses
          .map((clause, index) => {
            const block = `{${this.#block(clause.body)}}`;
            if (clause.type === 'ElseClause') return `else${block}`;
            return `${index === 0 ? 'if' : 'else if'}(${this.#condition(clause.condition)})${block}`;
          })
          .join('');
      case 'WhileStatement':
        return `while(${this.#condition(node.condition)}){${this.#block(node.body)}}`;
      case 'RepeatStatement': {
        // The condition can use the block's locals.
        this.#scopes.push(new Map());
        const body = node.body.map((statement) => this.#statement(statement)).join('');
        const end = `if(${this.#condition(node.condition)})break;`;
        this.#scopes.pop();
        return `while(true){${body}${end}}`;
      }
      case 'ForNumericStatement':
        return this.#count(node);
      case 'ForGenericStatement':
        return this.#iterate(node);
      case 'ReturnStatement':
        return `return [${this.#list(node.arguments)}];`;
      case 'BreakStatement':
        return 'break;';
      case 'DoStatement':
        return `{${this.#block(node.body)}}`;
      default:
        return unsupported(node, node.type);
    }
  }

  #local(variables: readonly { readonly name: string }[], init: readonly Expression[]): string {
    const values = this.#spread(init, variables.length);
    const names = variables.map(({ name }) => this.#declare(name));
    if (typeof values === 'string') return `let [${names.join(',')}]=${values};`;
    return `let ${names.map((name, index) => (values[index] === undefined ? name : `${name}=${values[index]}`)).join(',')};`;
  }

  #assignment(variables: readonly Expression[], init: readonly Expression[]): string {
    const values = this.#spread(init, variables.length);
    if (variables.length === 1)
      return `${this.#assign(variables[0]!, typeof values === 'string' ? `${values}[0]` : values[0]!)};`;
    // Lua evaluates all values before the first assignment.
    const held = this.#temporary();
    const all = typeof values === 'string' ? values : `[${values.join(',')}]`;
    return `${held}=${all};${variables.map((variable, index) => `${this.#assign(variable, `${held}[${index}]`)};`).join('')}`;
  }

  #assign(target: Expression, value: string): string {
    if (target.type === 'Identifier') return `${this.#resolve(target.name, target)}=${value}`;
    if (target.type === 'MemberExpression') {
      return `$.set(${this.#single(target.base)},${JSON.stringify(target.identifier.name)},${value})`;
    }
    if (target.type === 'IndexExpression') {
      return `$.set(${this.#single(target.base)},${this.#single(target.index)},${value})`;
    }
    return unsupported(target, 'an assignment to it');
  }

  /** One text a value, or one text for an array of them when the last expression gives several. */
  #spread(init: readonly Expression[], wanted: number): readonly string[] | string {
    const last = init.at(-1);
    if (last === undefined || init.length >= wanted || !this.#isMany(last)) {
      return init.map((each) => this.#single(each));
    }
    return `[${this.#list(init)}]`;
  }

  /** Values of a call, a return or a table: the last expression gives all its values. */
  #list(expressions: readonly Expression[]): string {
    return expressions
      .map((each, index) =>
        index === expressions.length - 1 && this.#isMany(each) ? `...${this.#many(each)}` : this.#single(each),
      )
      .join(',');
  }

  #isMany(node: Expression): boolean {
    return node.type === 'CallExpression' && this.#calls(node).many;
  }

  #many(node: Expression): string {
    if (node.type !== 'CallExpression') return unsupported(node, 'several values of it');
    return this.#calls(node).code;
  }

  #call(node: Expression): string {
    if (node.type !== 'CallExpression') return unsupported(node, 'a call of this form');
    return this.#calls(node).code;
  }

  #calls(node: Expression & { type: 'CallExpression' }): { readonly code: string; readonly many: boolean } {
    const { base, arguments: args } = node;
    const name = nameOf(base);
    if (base.type === 'Identifier' && this.#isLocal(base.name)) {
      return { code: `${this.#resolve(base.name, base)}(${this.#list(args)})`, many: true };
    }
    if (name === 'redis.call') {
      const [command, ...rest] = args;
      return { code: `$call(${this.#single(command!)},[${this.#list(rest)}])`, many: false };
    }
    if (name === 'pcall') {
      const [action, ...rest] = args;
      if (nameOf(action!) === 'redis.call') {
        return { code: `$.pcall(()=>$call(${this.#single(rest[0]!)},[${this.#list(rest.slice(1))}]))`, many: true };
      }
      const known = functions[nameOf(action!) ?? ''];
      if (known !== undefined) return { code: `$.pcall(()=>$.${known.js}(${this.#list(rest)}))`, many: true };
      // A function of the script returns a list of results.
      return { code: `$.pcallMany(()=>(${this.#single(action!)})(${this.#list(rest)}))`, many: true };
    }
    const known = name === undefined ? undefined : functions[name];
    if (known === undefined) return unsupported(node, `a call of ${name ?? 'it'}`);
    return { code: `$.${known.js}(${this.#list(args)})`, many: known.many === true };
  }

  #single(node: Expression): string {
    switch (node.type) {
      case 'Identifier':
        return this.#resolve(node.name, node);
      case 'StringLiteral':
        // Without its quotes the parser keeps the text raw: our scripts contain only printable ASCII.
        return JSON.stringify(stringOf(node));
      case 'NumericLiteral':
        return String(node.value);
      case 'BooleanLiteral':
        return String(node.value);
      case 'NilLiteral':
        return 'undefined';
      case 'TableConstructorExpression':
        return this.#table(node);
      case 'FunctionDeclaration':
        return this.#closure(node);
      case 'MemberExpression':
        return `$.get(${this.#single(node.base)},${JSON.stringify(node.identifier.name)})`;
      case 'IndexExpression':
        return `$.get(${this.#single(node.base)},${this.#single(node.index)})`;
      case 'CallExpression': {
        const { code, many } = this.#calls(node);
        return many ? `${code}[0]` : code;
      }
      case 'UnaryExpression':
        if (node.operator === 'not') return `!(${this.#condition(node.argument)})`;
        if (node.operator === '#') return `$.length(${this.#single(node.argument)})`;
        return `-$.number(${this.#single(node.argument)})`;
      case 'LogicalExpression': {
        const held = this.#temporary();
        const [left, right] = [this.#single(node.left), this.#single(node.right)];
        const isTrue = `(${held}=${left},${held}!==undefined&&${held}!==false)`;
        return node.operator === 'and' ? `(${isTrue}?${right}:${held})` : `(${isTrue}?${held}:${right})`;
      }
      case 'BinaryExpression':
        return this.#binary(node.operator, this.#single(node.left), this.#single(node.right), node);
      default:
        return unsupported(node, node.type);
    }
  }

  #binary(operator: string, left: string, right: string, node: Node): string {
    if (operator === '==') return `(${left}===${right})`;
    if (operator === '~=') return `(${left}!==${right})`;
    if (operator === '..') return `$.concat(${left},${right})`;
    if (operator === '%') return `$.modulo(${left},${right})`;
    if (operator === '>') return `$.lt(${right},${left})`;
    if (operator === '>=') return `$.le(${right},${left})`;
    if (comparisons[operator] !== undefined) return `$.${comparisons[operator]}(${left},${right})`;
    if (arithmetic[operator] !== undefined) return `($.number(${left})${operator}$.number(${right}))`;
    return unsupported(node, `the operator ${operator}`);
  }

  /** As JavaScript's condition. */
  #condition(node: Expression): string {
    if (node.type === 'BinaryExpression' && /^([=~<>]=|[<>])$/.test(node.operator)) return this.#single(node);
    if (node.type === 'UnaryExpression' && node.operator === 'not') return this.#single(node);
    if (node.type === 'LogicalExpression') {
      const operator = node.operator === 'and' ? '&&' : '||';
      return `(${this.#condition(node.left)}${operator}${this.#condition(node.right)})`;
    }
    return `$.isTrue(${this.#single(node)})`;
  }

  #table(node: Expression & { type: 'TableConstructorExpression' }): string {
    const values: string[] = [];
    const named: string[] = [];
    for (const [index, field] of node.fields.entries()) {
      if (field.type === 'TableValue') {
        const isLast = index === node.fields.length - 1;
        values.push(isLast && this.#isMany(field.value) ? `...${this.#many(field.value)}` : this.#single(field.value));
      } else {
        const key = field.type === 'TableKeyString' ? JSON.stringify(field.key.name) : this.#single(field.key);
        named.push(`[${key},${this.#single(field.value)}]`);
      }
    }
    const list = `$.list([${values.join(',')}])`;
    return named.length === 0 ? list : `$.withFields(${list},[${named.join(',')}])`;
  }

  #closure(node: { readonly parameters: readonly Node[]; readonly body: readonly Statement[] }): string {
    const names = node.parameters.map((parameter) =>
      parameter.type === 'Identifier' ? parameter.name : unsupported(parameter, 'a vararg function'),
    );
    this.#temporaries.push([]);
    this.#scopes.push(new Map());
    const parameters = names.map((name) => this.#declare(name));
    const body = this.#block(node.body);
    this.#scopes.pop();
    const temporaries = this.#temporaries.pop()!;
    const declared = temporaries.length === 0 ? '' : `let ${temporaries.join(',')};`;
    return `(${parameters.join(',')})=>{${declared}${body}return [];}`;
  }

  #count(node: Statement & { type: 'ForNumericStatement' }): string {
    const [from, to, step] = [node.start, node.end, node.step].map((each) => each && this.#single(each));
    const [end, by] = [this.#fresh('$end'), this.#fresh('$step')];
    this.#scopes.push(new Map());
    const name = this.#declare(node.variable.name);
    const body = this.#block(node.body);
    this.#scopes.pop();
    const counter = this.#fresh('$i');
    const head = `let ${counter}=$.number(${from}),${end}=$.number(${to}),${by}=${step === undefined || step === null ? 1 : `$.number(${step})`}`;
    return `for(${head};${by}>0?${counter}<=${end}:${counter}>=${end};${counter}+=${by}){let ${name}=${counter};${body}}`;
  }

  #iterate(node: Statement & { type: 'ForGenericStatement' }): string {
    const [iterator, ...others] = node.iterators;
    const name = iterator?.type === 'CallExpression' ? nameOf(iterator.base) : undefined;
    if (iterator?.type !== 'CallExpression' || others.length > 0 || name === undefined || !iterators.has(name)) {
      return unsupported(node, 'this iterator');
    }
    const args = this.#list(iterator.arguments);
    this.#scopes.push(new Map());
    const variables = node.variables.map((variable) => this.#declare(variable.name));
    const body = this.#block(node.body);
    this.#scopes.pop();
    const source = name === 'ipairs' ? `$.ipairs(${args})` : `$.gmatch(${args})`;
    return `for(let [${variables.join(',')}] of ${source}){${body}}`;
  }

  #isLocal(name: string): boolean {
    return this.#scopes.some((scope) => scope.has(name));
  }

  #resolve(name: string, node: Node): string {
    for (const scope of this.#scopes.toReversed()) {
      const found = scope.get(name);
      if (found !== undefined) return found;
    }
    if (name === 'KEYS' || name === 'ARGV') return name;
    return unsupported(node, `the global ${name}`);
  }
}

/** "string.sub"; undefined: no plain name. */
function nameOf(node: Expression): string | undefined {
  if (node.type === 'Identifier') return node.name;
  if (node.type !== 'MemberExpression' || node.base.type !== 'Identifier') return undefined;
  return `${node.base.name}.${node.identifier.name}`;
}

/** The parser gives the value as null where its encoding is unknown, and the raw text. */
function stringOf({ value, raw }: { readonly value: string | null; readonly raw: string }): string {
  if (value !== null) return value;
  const inner = raw.slice(1, -1);
  if (!/^[\x20-\x7e]*$/.test(inner)) throw new LuaUnsupported(`the string ${raw}`);
  return inner.replace(/\\(.)/g, (_, escaped: string) => {
    const plain = { n: '\n', t: '\t', r: '\r', '\\': '\\', '"': '"', "'": "'" }[escaped];
    if (plain === undefined) throw new LuaUnsupported(`the escape \\${escaped}`);
    return plain;
  });
}

function unsupported(node: Node, what: string): never {
  throw new LuaUnsupported(`the compiler of Redis scripts does not know ${what} (${node.type})`);
}
