"""What statements over the catalogue may name. Everything else is refused before it reaches a PostgreSQL.

On the lists is what tells of tables, columns, types and the session, and functions that only compute. Not on them is
what reads or writes files, runs programs or texts, sleeps, signals, takes locks, or tells of other sessions and of the
server; and statistics, which would be those of tables without rows.
"""

from typing import Final

RELATIONS: Final = frozenset(
    """
    pg_aggregate pg_am pg_amop pg_amproc pg_attrdef pg_attribute pg_auth_members pg_available_extension_versions
    pg_available_extensions pg_cast pg_class pg_collation pg_constraint pg_conversion pg_database
    pg_db_role_setting pg_default_acl pg_depend pg_description pg_enum pg_event_trigger pg_extension
    pg_foreign_data_wrapper pg_foreign_server pg_foreign_table pg_group pg_index pg_indexes pg_inherits
    pg_init_privs pg_language pg_matviews pg_namespace pg_opclass pg_operator pg_opfamily pg_parameter_acl
    pg_partitioned_table pg_policies pg_policy pg_proc pg_publication pg_publication_namespace
    pg_publication_rel pg_publication_tables pg_range pg_rewrite pg_roles pg_rules pg_seclabel pg_seclabels
    pg_sequence pg_sequences pg_settings pg_shdepend pg_shdescription pg_shseclabel pg_statistic_ext pg_tables
    pg_tablespace pg_timezone_abbrevs pg_timezone_names pg_transform pg_trigger pg_ts_config pg_ts_config_map
    pg_ts_dict pg_ts_parser pg_ts_template pg_type pg_user pg_user_mappings pg_views
    """.split()
)
# Relations that tell of the whole server: views of ours stand in for them (template.py).
REPLACED_RELATIONS: Final = frozenset(
    "pg_database pg_roles pg_user pg_group pg_auth_members pg_settings pg_shdescription pg_shdepend"
    " pg_shseclabel pg_db_role_setting pg_user_mappings pg_parameter_acl".split()
)
# Naming one of these makes a statement one about the catalogue.
FUNCTIONS: Final = frozenset(
    """
    acldefault aclexplode array_in charout col_description current_database current_role current_schema
    current_schemas current_setting format_type getdatabaseencoding has_any_column_privilege
    has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege
    has_language_privilege has_parameter_privilege has_schema_privilege has_sequence_privilege
    has_server_privilege has_table_privilege has_tablespace_privilege has_type_privilege inet_client_addr
    inet_client_port inet_server_addr inet_server_port information_schema._pg_char_max_length
    information_schema._pg_expandarray information_schema._pg_index_position
    information_schema._pg_numeric_precision information_schema._pg_truetypid information_schema._pg_truetypmod
    makeaclitem obj_description oidvectortypes pg_advisory_unlock_all pg_backend_pid pg_char_to_encoding
    pg_client_encoding pg_collation_for pg_collation_is_visible pg_column_is_updatable pg_conf_load_time
    pg_conversion_is_visible pg_database_size pg_describe_object pg_encoding_max_length pg_encoding_to_char
    pg_event_trigger_ddl_commands pg_function_is_visible pg_get_constraintdef pg_get_expr
    pg_get_function_arg_default pg_get_function_arguments pg_get_function_identity_arguments
    pg_get_function_result pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_partition_constraintdef
    pg_get_partkeydef pg_get_replica_identity_index pg_get_ruledef pg_get_serial_sequence
    pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_triggerdef pg_get_userbyid pg_get_viewdef
    pg_has_role pg_identify_object pg_identify_object_as_address pg_index_column_has_property
    pg_index_has_property pg_indexam_has_property pg_indexes_size pg_is_in_recovery pg_is_other_temp_schema
    pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible pg_options_to_table
    pg_partition_ancestors pg_partition_root pg_partition_tree pg_postmaster_start_time
    pg_relation_is_publishable pg_relation_is_updatable pg_relation_size pg_size_pretty
    pg_statistics_obj_is_visible pg_table_is_visible pg_table_size pg_tablespace_location pg_tablespace_size
    pg_total_relation_size pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible
    pg_ts_template_is_visible pg_type_is_visible pg_typeof quote_ident row_security_active set_config
    shobj_description to_regclass to_regcollation to_regnamespace to_regoper to_regproc to_regprocedure
    to_regrole to_regtype txid_current_if_assigned version
    """.split()
)
# Functions that only compute, beside those.
HARMLESS: Final = frozenset(
    """
    abs array_agg array_append array_cat array_length array_lower array_ndims array_position array_positions
    array_prepend array_remove array_to_json array_to_string array_upper avg bit_and bit_or bool_and bool_or
    bpchar btrim cardinality ceil char_length chr clock_timestamp coalesce concat concat_ws count date_part
    date_trunc decode dense_rank encode every extract first_value floor format generate_series
    generate_subscripts greatest hashtext initcap int4 int4range int8 isfinite json_agg json_array_elements
    json_array_length json_build_array json_build_object json_object_agg jsonb_agg jsonb_array_elements
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_object_agg lag last_value lead least left
    length like_escape lower ltrim max md5 min mod name now nullif nvl octet_length oid overlay parse_ident parse_ident
    pg_encoding_to_char position quote_literal quote_nullable rank regexp_match regexp_matches regexp_replace
    regexp_split_to_array regexp_split_to_table regtype replace reverse right round row_number row_to_json rtrim
    sign similar_to_escape split_part starts_with statement_timestamp string_agg string_to_array strpos substr
    substring sum text timezone to_char to_date to_json to_jsonb to_number to_timestamp transaction_timestamp
    translate trim trunc unnest upper varchar xpath_exists
    """.split()
)
# Types that only the catalogue has.
TYPES: Final = frozenset(
    """
    aclitem cardinal_number character_data cid int2vector name oid oidvector pg_node_tree regclass regcollation
    regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype sql_identifier
    tid xid yes_or_no
    """.split()
)
# Words of SQL that are values of the session.
VALUES: Final = frozenset(
    f"SVFOP_{word}"
    for word in ("CURRENT_USER", "USER", "SESSION_USER", "CURRENT_ROLE", "CURRENT_CATALOG", "CURRENT_SCHEMA")
)
SCHEMAS: Final = (None, "pg_catalog", "information_schema")
