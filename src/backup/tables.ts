import pg from 'pg'

/** Rebuilt from the other tables after a restore. */
const LEFT_OUT = ['read_models']

export interface Table {
  name: string
  columns: string[]
}

/** Runs `act` with a connection that waits for as long as a statement takes. */
export async function withClient<T>(
  connectionString: string,
  application_name: string,
  act: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString, application_name, keepAlive: true })
  // A lost connection shows at the next query.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    return await act(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** All tables of the record with their columns, each after the tables that it refers to. */
export async function loadTables(client: pg.ClientBase): Promise<Table[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; refers: string[] }>(
    `select c.relname as name,
            (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
            coalesce((select array_agg(distinct r.relname::text) from pg_constraint k
                        join pg_class r on r.oid = k.confrelid
                       where k.conrelid = c.oid and k.contype = 'f' and r.oid <> c.oid), '{}') as refers
       from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
      order by c.relname`,
  )
  const left = new Map(rows.map((row) => [row.name, row]))
  const ordered: Table[] = []
  while (left.size > 0) {
    const free = [...left.values()].filter(({ refers }) => !refers.some((name) => left.has(name)))
    if (free.length === 0) throw new Error(`tables refer to each other in a circle: ${[...left.keys()].join(', ')}`)
    for (const { name, columns } of free) {
      left.delete(name)
      if (!LEFT_OUT.includes(name)) ordered.push({ name, columns })
    }
  }
  return ordered
}

/** The used sequences and their last values. Read them after the rows: a sequence never goes back. */
export async function loadSequences(client: pg.ClientBase): Promise<{ sequence: string; last_value: string }[]> {
  const { rows } = await client.query<{ sequence: string; last_value: string }>(
    `select sequencename as sequence, last_value::text as last_value from pg_sequences
      where schemaname = 'public' and last_value is not null order by 1`,
  )
  return rows
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** `public."frames" ("id", …)`, as COPY takes it. */
export function copyTarget({ name, columns }: Table): string {
  return `public.${quote(name)} (${columns.map(quote).join(', ')})`
}
