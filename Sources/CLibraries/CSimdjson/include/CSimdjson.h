int csimdjson_placeholder(void);
