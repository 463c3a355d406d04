/** The way to newer and older pages of a list; each page has an address. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { formatQuery } from '../address.ts'
import { Icon } from './text.tsx'

type Changes = Readonly<Record<string, string | undefined>>

interface PagesProps {
  /** Changes of the query that lead there; undefined where there is no such page. */
  readonly newer: Changes | '' | undefined
  readonly older: Changes | '' | undefined
  /** How many the page shows. */
  readonly children: ComponentChildren
}

export function Pages({ newer, older, children }: PagesProps) {
  const { path, query } = useLocation()
  const pageAt = (changes: Changes) => path + formatQuery({ ...query, ...changes })
  return (
    <nav class="panel-note row pages" aria-label="Pages">
      <span class="muted number">{children}</span>
      {newer && (
        <a class="button small" href={pageAt(newer)}>
          <Icon name="left" /> Newer
        </a>
      )}
      {older && (
        <a class="button small" href={pageAt(older)}>
          Older <Icon name="right" />
        </a>
      )}
    </nav>
  )
}
