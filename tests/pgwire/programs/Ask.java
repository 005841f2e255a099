// Asks as programs with JDBC do: metadata, prepared statements, fetch size, cancel.
import java.sql.*;
import java.util.*;

public class Ask {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("user", arguments[1]);
        properties.put("password", arguments[2]);
        try (Connection connection = DriverManager.getConnection(arguments[0], properties)) {
            metadata(connection);
            prepared(connection);
            fetched(connection);
            ended(connection);
        }
    }

    static void metadata(Connection connection) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        System.out.println(connection.getCatalog() + " " + connection.getSchema() + " " + data.getUserName());
        try (ResultSet rows = data.getTables(null, "public", "app", new String[] {"TABLE"})) {
            while (rows.next()) System.out.println("table " + rows.getString("TABLE_NAME"));
        }
        try (ResultSet rows = data.getColumns(null, "public", "app", "t%")) {
            while (rows.next()) System.out.println("column " + rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME"));
        }
        try (ResultSet rows = data.getPrimaryKeys(null, "public", "app")) { System.out.println("key " + rows.next()); }
        try (ResultSet rows = data.getIndexInfo(null, "public", "app", false, false)) { System.out.println("index " + rows.next()); }
    }

    static void prepared(Connection connection) throws SQLException {
        String sql = "SELECT count(*) AS n, max(p_timestamp) AS at FROM app WHERE took > ? AND level = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            // From the fifth time on the driver uses a named statement and binary values.
            for (int round = 0; round < 7; round++) {
                statement.setDouble(1, round);
                statement.setString(2, "error");
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    if (round == 6) System.out.println("counted " + rows.getLong("n") + " " + (rows.getTimestamp("at") != null));
                }
            }
        }
    }

    static void fetched(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(100);
            int count = 0;
            try (ResultSet rows = statement.executeQuery("SELECT message, tags FROM app")) {
                while (rows.next()) if (count++ == 0) System.out.println(Arrays.toString((Object[]) rows.getArray(2).getArray()));
            }
            System.out.println("fetched " + count);
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    static void ended(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            statement.executeQuery("SELECT count(*) FROM app a, app b, app c WHERE a.took + b.took * c.took > 3");
        } catch (SQLException error) {
            System.out.println("ended " + error.getSQLState());
        }
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM app");
        } catch (SQLException error) {
            System.out.println("refused " + error.getSQLState() + " " + connection.isValid(5));
        }
    }
}
