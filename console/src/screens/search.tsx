/** All that a search finds, at an address of its own. */
import { useId } from 'preact/hooks'
import { Filters } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { useHits } from '../components/search-hits.tsx'
import { type HitGroup, minRemote, searchPlaceholder, searchShort } from '../components/search-remote.ts'
import { EmptyState } from '../components/states.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import type { ScreenProps } from '../screen.ts'

const rowHeight = 45

export function Search({ query: { q = '', type } }: ScreenProps) {
  const text = q.trim()
  const groups = useHits(text, false)
  const shown = groups.filter(({ title, hits, failed }) => (hits.length > 0 || failed) && (type === undefined || title === type))
  const note = text === '' ? 'Enter a name, or a part of one.' : text.length < minRemote ? searchShort : undefined
  return (
    <>
      <PageHead tab={text === '' ? 'Search' : `Search: ${text}`} title="Search" />
      <Filters
        filters={[
          { name: 'q', label: searchPlaceholder },
          {
            name: 'type',
            label: 'Kind',
            any: 'All kinds',
            choices: groups.flatMap(({ hits, title }) => (hits.length > 0 ? title : [])),
          },
        ]}
        note={note !== undefined && <span class="muted">{note}</span>}
      />
      <div class="stack">
        {shown.map((group) => (
          <Group key={group.title} group={group} />
        ))}
      </div>
      {shown.length === 0 && text !== '' && <EmptyState icon="search" text={`Nothing matches “${text}”.`} />}
    </>
  )
}

function Group({ group: { title, hits, failed } }: { group: HitGroup }) {
  const id = useId()
  return (
    <Panel title={title} count={hits.length} flush>
      {failed === true && <p class="panel-note">{`${title} could not be searched.`}</p>}
      <VirtualList
        label={title}
        items={hits}
        keyOf={({ href, label }) => href ?? `${id} ${label}`}
        rowHeight={rowHeight}
        row={({ label, detail, icon, href }) => (
          <div class="run-row">
            <Icon name={icon} />
            <NameLink class="row-link row-title" href={href} text={label} max={80} />
            <span class="grow cut muted">{detail !== undefined && <Name text={detail} max={60} />}</span>
          </div>
        )}
      />
    </Panel>
  )
}
