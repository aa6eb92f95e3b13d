"""Sketches made by SQL: one query sums, later questions need no query.

Receipts of six shops lie in a database. One GROUP BY makes a sketch of a few kilobytes for each shop, in DataFusion as
an aggregate function, in DuckDB as a stream. From the sketches come the customer groups of all shops together, and the
shop whose customers are unlike those of the others.
"""

import compressive
import compressive.sql
import datafusion
import duckdb
import numpy as np
import pyarrow as pa

N_ROWS = 60_000


def receipts():
    """Basket size and sum: small baskets at noon, large ones on Saturday; shop 3 has hardly any large ones."""
    rng = np.random.default_rng(4)
    shop = rng.integers(0, 6, N_ROWS)
    large = rng.random(N_ROWS) < np.where(shop == 3, 0.05, 0.3)
    items = np.where(large, rng.normal(40, 6, N_ROWS), rng.normal(5, 2, N_ROWS))
    total = np.where(large, rng.normal(120, 15, N_ROWS), rng.normal(14, 5, N_ROWS))
    return pa.table({"shop": shop, "items": items, "total": total, "paid": rng.random(N_ROWS) < 0.99})


def main():
    table = receipts()
    con = duckdb.connect()
    con.register("receipts", table)

    # A recipe that both engines share, from a sample that SQL draws.
    sample = con.sql("SELECT items, total FROM receipts USING SAMPLE 5000 ROWS (reservoir, 1)").to_arrow_table()
    spec = compressive.design(sample, k=4, seed=1)

    ctx = datafusion.SessionContext()
    ctx.register_record_batches("receipts", [table.to_batches(max_chunksize=8192)])
    compressive.sql.register(ctx, spec)
    result = ctx.sql("SELECT shop, sketch(items, total) FILTER (WHERE paid) AS sketch FROM receipts GROUP BY shop")
    shops = compressive.sql.sketches(result)
    size = len(shops["0"].to_bytes())
    print(f"DataFusion: {len(shops)} sketches of {size:,} bytes for {table.num_rows:,} receipts")

    query = "SELECT shop, items, total FROM receipts WHERE paid = $paid"
    streamed = compressive.sql.duckdb(con, query, spec, by="shop", parameters={"paid": True})
    assert {name: s.to_bytes() for name, s in streamed.items()} == {name: s.to_bytes() for name, s in shops.items()}
    print("DuckDB and DataFusion gave the same bytes for every shop")

    everything = sum(shops.values())
    model = compressive.fit_kmeans(everything, 2)
    for weight, (items, total) in zip(model.parameters["weights"], model.parameters["centers"], strict=True):
        print(f"  {weight:4.0%} of the receipts: about {items:.0f} items for {total:.0f}")

    # Sketches subtract: each shop is compared with all others, then with all others but the odd one.
    distance = {name: compressive.compare(s, everything - s)["distance"] for name, s in shops.items()}
    odd = max(distance, key=lambda name: distance[name])
    print(f"  shop {odd} is the farthest from the others")
    usual = everything - shops.pop(odd)
    alike = sum(compressive.compare(s, usual - s)["p_value"] > 0.001 for s in shops.values())
    print(f"  without it, {alike} of the {len(shops)} shops are like the others")


if __name__ == "__main__":
    main()
