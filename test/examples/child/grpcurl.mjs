#!/usr/bin/env node
/**
 * Stands in for grpcurl where it is not installed, as far as the README needs it: -plaintext, -H, -d, address, method. It
 * works as grpcurl does, from nothing but server reflection: it knows no .proto file and imports no generated code.
 */
import { parseArgs } from 'node:util';
import { createFileRegistry, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata } from '@grpc/grpc-js';

const asTheyAre = (bytes) => bytes;

const { values, positionals } = parseArgs({
  args: process.argv.slice(2).map((word) => (/^-[a-z]{2}/.test(word) ? `-${word}` : word)),
  allowPositionals: true,
  options: {
    plaintext: { type: 'boolean' },
    header: { type: 'string', short: 'H', multiple: true },
    data: { type: 'string', short: 'd' },
  },
});
const [address, method] = positionals;
const [serviceName, methodName] = method.split('/');

const client = new Client(address, credentials.createInsecure());
const registry = await reflect(serviceName);
const { input, output } = registry.getService(serviceName).methods.find(({ name }) => name === methodName);
const request = toBinary(input, fromJson(input, JSON.parse(values.data), { registry }));
const response = await call(`/${method}`, Buffer.from(request));
process.stdout.write(`${JSON.stringify(toJson(output, fromBinary(output, response)), null, 2)}\n`);
client.close();

function call(path, bytes) {
  const metadata = new Metadata();
  for (const header of values.header ?? []) {
    const [name, ...rest] = header.split(':');
    metadata.add(name.trim(), rest.join(':').trim());
  }
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, asTheyAre, asTheyAre, bytes, metadata, (error, answer) => {
      if (error) reject(error);
      else resolve(answer);
    });
  });
}

/** The service's file and everything that it imports. */
async function reflect(symbol) {
  const files = new Map();
  const add = (answer) => {
    for (const bytes of answer) {
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      files.set(file.name, file);
    }
  };
  // ServerReflectionRequest: file_containing_symbol = 4, file_by_filename = 3.
  add(await ask(4, symbol));
  for (let missing = imports(); missing.length > 0; missing = imports()) add(await ask(3, missing[0]));
  return createFileRegistry({ $typeName: FileDescriptorSetSchema.typeName, file: inOrder() });

  function imports() {
    return [...files.values()].flatMap((file) => file.dependency).filter((name) => !files.has(name));
  }

  /** A registry wants a file after its imports. */
  function inOrder() {
    const ordered = new Set();
    const visit = (file) => {
      for (const name of file.dependency) visit(files.get(name));
      ordered.add(file);
    };
    for (const file of files.values()) visit(file);
    return [...ordered];
  }
}

function ask(field, text) {
  const stream = client.makeBidiStreamRequest(
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    asTheyAre,
    asTheyAre,
  );
  return new Promise((resolve, reject) => {
    // ServerReflectionResponse: file_descriptor_response = 4, in it file_descriptor_proto = 1.
    stream.on('data', (bytes) => resolve(lengthDelimited(bytes, 4).flatMap((files) => lengthDelimited(files, 1))));
    stream.on('error', reject);
    stream.write(Buffer.from(new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish()));
    stream.end();
  });
}

function lengthDelimited(bytes, field) {
  const found = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) found.push(Buffer.from(reader.bytes()));
    else reader.skip(type, number);
  }
  return found;
}
