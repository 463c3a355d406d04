import assert from 'node:assert/strict'
import { test } from 'node:test'
import { greeting } from './greeting.mjs'

test('the greeting names its version', () => assert.match(greeting(), /version \d+/))
