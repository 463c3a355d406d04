/** Operations of one call: the service that is called, and its passed-on answer. */
import { test } from 'node:test'
import { checkRow, type Row, startPlatform } from './platform.ts'
import * as tables from './rows.ts'

for (const [family, rows] of Object.entries(tables) as [string, Row[]][]) {
  test(`operations of ${family} become one call each`, async (t) => {
    const platform = await startPlatform(t)
    for (const row of rows)
      await t.test(`${row.ask} asks ${row.call}`, () => checkRow(platform, row))
  })
}
