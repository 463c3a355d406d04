/**
 * Node's module for HTTP. An `import` of `node:http` reads each of its exports, and one of those loads the whole of Node's own `fetch`, which
 * Fairlead does not use. Types are imported as usual.
 */
import { isOn } from './without.ts'

export const http = process.getBuiltinModule('node:http')

if (!isOn('http-module')) void import('node:http')
